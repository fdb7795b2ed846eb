package cuelang

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/parser"
)

// Definition is what an author writes.
type Definition struct {
	Name        string            `json:"name"`
	Type        string            `json:"type"`
	Alias       string            `json:"alias,omitempty"`
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Attributes  json.RawMessage   `json:"attributes"`
	Template    string            `json:"template"`
}

var definitionTypes = []string{"component", "trait", "policy", "workflow-step", "workload"}

// ReadDefinition reads a file of the authoring format.
func ReadDefinition(asked Template) (*Definition, *Failed) {
	shared.refresh()
	if asked.File == "" {
		asked.File = "definition.cue"
	}
	file, err := parseTemplate(asked.Text, asked.File)
	if err != nil {
		return nil, failed(problemsOf(err, codeSyntax))
	}
	head, body, problems := partsOf(file)
	if problems != nil {
		return nil, failed(problems)
	}
	definition := &Definition{Labels: map[string]string{}, Annotations: map[string]string{}, Attributes: json.RawMessage("{}")}
	if failure := definition.readHead(file, head); failure != nil {
		return nil, failure
	}
	text, err := format.Node(&ast.File{Decls: append(importsOf(file), body.Elts...)})
	if err != nil {
		return nil, failed(problemsOf(errors.Promote(err, "format"), codeSyntax))
	}
	definition.Template = string(text)
	return definition, nil
}

// partsOf finds the one struct beside the template.
func partsOf(file *ast.File) (*ast.Field, *ast.StructLit, []Problem) {
	var head *ast.Field
	var body *ast.StructLit
	var problems []Problem
	complain := func(node ast.Node, format string, given ...any) {
		place := node.Pos()
		message := fmt.Sprintf(format, given...)
		problems = append(problems, Problem{Code: codeSyntax, Message: message, File: place.Filename(), Line: place.Line(), Column: place.Column()})
	}
	for _, decl := range file.Decls {
		field, isField := decl.(*ast.Field)
		if !isField {
			continue
		}
		name, _, _ := ast.LabelName(field.Label)
		content, isStruct := field.Value.(*ast.StructLit)
		switch {
		case name == "template" && !isStruct:
			complain(field, "template is not a struct")
		case name == "template" && body != nil:
			complain(field, "template is declared twice")
		case name == "template":
			body = content
		case head != nil:
			complain(field, "a file has one definition, found %q besides %q", name, labelOf(head))
		default:
			head = field
		}
	}
	if head == nil {
		complain(file, "there is no definition: expected a struct with type, attributes, …")
	}
	if body == nil {
		complain(file, "there is no template")
	}
	return head, body, problems
}

func labelOf(field *ast.Field) string {
	name, _, _ := ast.LabelName(field.Label)
	return name
}

func (d *Definition) readHead(file *ast.File, head *ast.Field) *Failed {
	value, err := shared.buildFile(&ast.File{Filename: file.Filename, Decls: []ast.Decl{head}}, nil)
	if err != nil {
		return failed(problemsOf(err, codeSyntax))
	}
	d.Name = labelOf(head)
	value = value.LookupPath(cue.MakePath(cue.Str(d.Name)))
	text, wrong := jsonOf(value)
	if wrong != nil {
		return failed(problemsOf(wrong, codeIncomplete))
	}
	if err := json.Unmarshal(text, d); err != nil {
		return failedWith(fmt.Sprintf("definition %q: %v", d.Name, err))
	}
	d.Name = labelOf(head)
	if d.Labels == nil {
		d.Labels = map[string]string{}
	}
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	if !slices.Contains(definitionTypes, d.Type) {
		place := head.Pos()
		message := fmt.Sprintf("type is %q, expected one of %s", d.Type, strings.Join(definitionTypes, ", "))
		return failed([]Problem{{Code: codeConflict, Message: message, Path: d.Name + ".type", File: place.Filename(), Line: place.Line(), Column: place.Column()}})
	}
	return nil
}

func importsOf(file *ast.File) []ast.Decl {
	var imports []ast.Decl
	for _, decl := range file.Decls {
		if _, isImport := decl.(*ast.ImportDecl); isImport {
			imports = append(imports, decl)
		}
	}
	return imports
}

// WriteDefinition is the reverse of ReadDefinition.
func WriteDefinition(definition Definition) (*string, *Failed) {
	template, err := parser.ParseFile("template", definition.Template, parser.ParseComments)
	if err != nil {
		return nil, failed(problemsOf(err, codeSyntax))
	}
	imports := importsOf(template)
	body := ast.NewStruct()
	for _, decl := range template.Decls {
		if _, isImport := decl.(*ast.ImportDecl); !isImport {
			body.Elts = append(body.Elts, decl)
		}
	}
	head, failure := definition.head()
	if failure != nil {
		return nil, failure
	}
	decls := append(slices.Clone(imports), &ast.Field{Label: label(definition.Name), Value: head},
		&ast.Field{Label: ast.NewIdent("template"), Value: body})
	text, err := format.Node(&ast.File{Decls: decls})
	if err != nil {
		return nil, failed(problemsOf(errors.Promote(err, "format"), codeSyntax))
	}
	written := string(text)
	return &written, nil
}

func (d Definition) head() (ast.Expr, *Failed) {
	members := newObject()
	for _, each := range []struct {
		name  string
		value any
	}{{"type", d.Type}, {"alias", d.Alias}, {"description", d.Description}, {"labels", d.Labels}, {"annotations", d.Annotations}} {
		if each.value == "" {
			continue
		}
		text, err := json.Marshal(each.value)
		if err != nil {
			return nil, failedWith(err.Error())
		}
		members.add(each.name, text)
	}
	members.add("attributes", d.Attributes)
	expr, failure := jsonExpr("attributes", members.end())
	if failure != nil {
		return nil, failure
	}
	return unquoted(expr), nil
}

func label(name string) ast.Label {
	if ast.IsValidIdent(name) {
		return ast.NewIdent(name)
	}
	return ast.NewString(name)
}

// unquoted writes JSON as people write CUE.
func unquoted(expr ast.Expr) ast.Expr {
	ast.Walk(expr, func(node ast.Node) bool {
		if field, isField := node.(*ast.Field); isField {
			if name, _, err := ast.LabelName(field.Label); err == nil {
				field.Label = label(name)
			}
		}
		return true
	}, nil)
	return expr
}
