package cuelang

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	cuejson "cuelang.org/go/encoding/json"
)

// Template is a text and its data.
type Template struct {
	Text string `json:"text"`
	// File is the name of the text in problems.
	File      string          `json:"file"`
	Parameter json.RawMessage `json:"parameter"`
	Context   json.RawMessage `json:"context"`
	// Packages is a hash of what the text may import; Sources are sent when it is not known.
	Packages string            `json:"packages"`
	Sources  map[string]string `json:"sources"`
	Inputs   []Input           `json:"inputs"`
}

// Input replaces a part of the parameter.
type Input struct {
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// template is compiled, without data.
type template struct {
	value     cue.Value
	parameter string
	file      *ast.File
	packages  packages
	// added are declarations at the end of the file that its author has not written.
	added    int
	upgrades []string
}

// UnknownPackages asks for the sources.
type UnknownPackages struct{}

// compiled returns a text's value over data, upgraded as far as needed. Conflicts in the value are not judged.
func (e *engine) compiled(given Template) (*template, cue.Value, *Failed) {
	e.refresh()
	compiled, failure := e.known(given)
	if failure != nil {
		return nil, cue.Value{}, failure
	}
	data, failure := dataOf(given, compiled.parameter)
	if failure != nil {
		return compiled, cue.Value{}, failure
	}
	return e.upgraded(compiled, func() cue.Value {
		if len(data.Elts) == 0 {
			return compiled.value
		}
		return compiled.value.Unify(e.context.BuildExpr(data))
	})
}

// fileOf is the syntax of a text that has just been compiled.
func (e *engine) fileOf(given Template) (*ast.File, *Failed) {
	compiled, failure := e.known(given)
	if failure != nil {
		return nil, failure
	}
	return compiled.file, nil
}

func (e *engine) known(given Template) (*template, *Failed) {
	known, areKnown, problems := e.packagesOf(given.Packages, given.Sources)
	if !areKnown {
		panic(UnknownPackages{})
	}
	if problems != nil {
		return nil, failed(problems)
	}
	if given.File == "" {
		given.File = "template"
	}
	return e.template(given, known)
}

// upgraded fills a template, and compiles it again as long as it has operations that were removed from CUE.
func (e *engine) upgraded(compiled *template, fill func() cue.Value) (*template, cue.Value, *Failed) {
	value := fill()
	for range maxUpgrades {
		if !compiled.upgradeArithmetic(errorOf(value)) {
			break
		}
		again, err := e.buildFile(compiled.file, compiled.packages)
		if err != nil {
			return compiled, value, failed(problemsOf(err, codeSyntax))
		}
		compiled.value = again
		value = fill()
	}
	return compiled, value, nil
}

func (e *engine) template(given Template, known packages) (*template, *Failed) {
	key := strings.Join([]string{given.Packages, given.File, given.Text}, "\x00")
	if compiled, isKnown := e.templates.Get(key); isKnown {
		return compiled, nil
	}
	parsed, err := parseTemplate(given.Text, given.File)
	if err != nil {
		return nil, failed(problemsOf(err, codeSyntax))
	}
	if problems := unknownImports(parsed, known, given.File); problems != nil {
		return nil, failed(problems)
	}
	if problems := unknownMembers(parsed, known, given.File); problems != nil {
		return nil, failed(problems)
	}
	name := parameterName(parsed)
	// Resolved together with the text, so that it may refer to what it does not declare.
	completed, err := parseTemplate(given.Text+"\ncontext: _\n"+name+": _\n", given.File)
	if err != nil {
		return nil, failed(problemsOf(err, codeSyntax))
	}
	value, failure := e.buildFile(completed, known)
	if failure != nil {
		return nil, failed(problemsOf(failure, codeSyntax))
	}
	// A text that cannot be compiled has no fields at all; errors of evaluation are judged later, over data.
	if err := value.Err(); err != nil && !value.LookupPath(cue.ParsePath("context")).Exists() {
		return nil, failed(problemsOf(err, codeSyntax))
	}
	compiled := &template{value: value, parameter: name, file: completed, packages: known, added: 2}
	e.templates.Put(key, compiled, 1)
	return compiled, nil
}

// parseTemplate reads a text without its package clause.
func parseTemplate(text, file string) (*ast.File, error) {
	parsed, err := parser.ParseFile(file, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	kept := parsed.Decls[:0]
	for _, decl := range parsed.Decls {
		if _, isClause := decl.(*ast.Package); !isClause {
			kept = append(kept, decl)
		}
	}
	parsed.Decls = kept
	return parsed, nil
}

func importPath(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value)
	path, _, _ = strings.Cut(path, ":")
	return path
}

// parameterName is `parameters` for texts that declare only that.
func parameterName(file *ast.File) string {
	name := "parameter"
	for _, decl := range file.Decls {
		if field, isField := decl.(*ast.Field); isField {
			switch label, _, _ := ast.LabelName(field.Label); label {
			case "parameter":
				return label
			case "parameters":
				name = label
			}
		}
	}
	return name
}

// dataOf is a struct of what is given.
func dataOf(given Template, parameter string) (*ast.StructLit, *Failed) {
	data := &ast.StructLit{}
	value, failure := jsonExpr(fileParameter, given.Parameter)
	if failure != nil {
		return data, failure
	}
	if value, failure = withInputs(value, given.Inputs); failure != nil {
		return data, failure
	}
	if value != nil {
		data.Elts = append(data.Elts, &ast.Field{Label: ast.NewIdent(parameter), Value: value})
	}
	context, failure := jsonExpr(fileContext, given.Context)
	if context != nil {
		data.Elts = append(data.Elts, &ast.Field{Label: ast.NewIdent("context"), Value: context})
	}
	return data, failure
}

// jsonExpr is nil for nothing. Numbers stay exact.
func jsonExpr(file string, text json.RawMessage) (ast.Expr, *Failed) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	expr, err := cuejson.Extract(file, text)
	if err != nil {
		return nil, failed(problemsOf(err, codeSyntax))
	}
	return expr, nil
}
