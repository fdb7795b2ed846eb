package cuelang

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/ast/astutil"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// As many operations of one text are upgraded.
const maxUpgrades = 50

// What CUE says of operations that it has removed.
const (
	additionRemoved       = "Addition of lists is superseded"
	multiplicationRemoved = "Multiplication of lists is superseded"
)

// upgradeArithmetic rewrites one addition or multiplication of lists that the error names. It reports whether there was one.
func (t *template) upgradeArithmetic(err error) bool {
	for _, each := range errors.Errors(err) {
		message := each.Error()
		operator := token.ILLEGAL
		if strings.Contains(message, additionRemoved) {
			operator = token.ADD
		} else if strings.Contains(message, multiplicationRemoved) {
			operator = token.MUL
		}
		if operator == token.ILLEGAL {
			continue
		}
		for _, place := range errors.Positions(each) {
			if t.rewriteAt(place, operator) {
				return true
			}
		}
	}
	return false
}

// rewriteAt rewrites the innermost operation that begins at the place.
func (t *template) rewriteAt(place token.Pos, operator token.Token) bool {
	spec := t.listImport()
	isDone := false
	astutil.Apply(t.file, nil, func(cursor astutil.Cursor) bool {
		binary, isBinary := cursor.Node().(*ast.BinaryExpr)
		if isDone || !isBinary || binary.Op != operator || binary.Pos().Compare(place) != 0 && binary.OpPos.Compare(place) != 0 {
			return true
		}
		isDone = true
		call := listCall(binary, spec)
		cursor.Replace(call)
		t.upgrades = append(t.upgrades, fmt.Sprintf("line %d: %s of lists became %s", place.Line(),
			map[token.Token]string{token.ADD: "addition", token.MUL: "multiplication"}[operator], callName(call)))
		return true
	})
	return isDone
}

func callName(call *ast.CallExpr) string {
	selector := call.Fun.(*ast.SelectorExpr)
	return "list." + selector.Sel.(*ast.Ident).Name
}

func listCall(binary *ast.BinaryExpr, spec *ast.ImportSpec) *ast.CallExpr {
	name, args := "Concat", []ast.Expr{ast.NewList(binary.X, binary.Y)}
	if binary.Op == token.MUL {
		name, args = "Repeat", []ast.Expr{binary.Y, binary.X}
		_, isList := binary.X.(*ast.ListLit)
		if _, isCount := binary.Y.(*ast.BasicLit); isList || isCount {
			args = []ast.Expr{binary.X, binary.Y}
		}
	}
	ast.SetRelPos(args[0], token.NoSpace)
	identifier := &ast.Ident{Name: importName(spec), NamePos: binary.Pos(), Node: spec}
	return &ast.CallExpr{Fun: &ast.SelectorExpr{X: identifier, Sel: ast.NewIdent(name)}, Args: args}
}

func importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	path := importPath(spec)
	return path[strings.LastIndex(path, "/")+1:]
}

// listImport finds or adds the import of CUE's lists.
func (t *template) listImport() *ast.ImportSpec {
	for _, spec := range t.file.Imports {
		if importPath(spec) == "list" {
			return spec
		}
	}
	spec := &ast.ImportSpec{Path: ast.NewString("list")}
	t.file.Decls = append([]ast.Decl{&ast.ImportDecl{Specs: []*ast.ImportSpec{spec}}}, t.file.Decls...)
	t.file.Imports = append(t.file.Imports, spec)
	return spec
}

// Upgraded is a text and what was changed.
type Upgraded struct {
	Text    string   `json:"text"`
	Applied []string `json:"applied"`
}

// Upgrade rewrites what today's CUE does not read any more. A text that needs nothing stays as it is.
func Upgrade(given Template) (*Upgraded, *Failed) {
	compiled, _, failure := shared.compiled(given)
	if failure != nil && compiled == nil {
		return nil, failure
	}
	compiled.upgrades = append(compiled.upgrades, dropUnusedImports(compiled.file)...)
	if len(compiled.upgrades) == 0 {
		return &Upgraded{Text: given.Text, Applied: []string{}}, nil
	}
	written := &ast.File{Decls: compiled.file.Decls[:len(compiled.file.Decls)-compiled.added]}
	text, err := format.Node(written)
	if err != nil {
		return nil, failed(problemsOf(errors.Promote(err, "format"), codeSyntax))
	}
	return &Upgraded{Text: string(text), Applied: compiled.upgrades}, nil
}

// dropUnusedImports changes the file.
func dropUnusedImports(file *ast.File) []string {
	used := map[*ast.ImportSpec]bool{}
	ast.Walk(file, func(node ast.Node) bool {
		if identifier, isIdentifier := node.(*ast.Ident); isIdentifier {
			if spec, isImport := identifier.Node.(*ast.ImportSpec); isImport {
				used[spec] = true
			}
		}
		return true
	}, nil)
	var dropped []string
	kept := []ast.Decl{}
	for _, decl := range file.Decls {
		imports, isImport := decl.(*ast.ImportDecl)
		if !isImport {
			kept = append(kept, decl)
			continue
		}
		specs := []*ast.ImportSpec{}
		for _, spec := range imports.Specs {
			if used[spec] {
				specs = append(specs, spec)
			} else {
				dropped = append(dropped, fmt.Sprintf("dropped the unused import %q", importPath(spec)))
			}
		}
		if len(specs) > 0 {
			kept = append(kept, &ast.ImportDecl{Import: imports.Import, Lparen: imports.Lparen, Specs: specs, Rparen: imports.Rparen})
		}
	}
	file.Decls = kept
	return dropped
}

// standard are the packages that come with CUE.
var standard = map[string]bool{}

func init() {
	for _, path := range strings.Fields(`crypto/ed25519 crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512
		encoding/base64 encoding/csv encoding/hex encoding/json encoding/toml encoding/yaml html list math math/bits net path
		regexp strconv strings struct text/tabwriter text/template time tool tool/cli tool/exec tool/file tool/http tool/os uuid`) {
		standard[path] = true
	}
}

// unknownImports names imports that are neither of CUE nor among the packages.
func unknownImports(file *ast.File, known packages, name string) []Problem {
	var problems []Problem
	for _, spec := range file.Imports {
		path := importPath(spec)
		if _, isKnown := known[path]; isKnown || standard[path] {
			continue
		}
		message := fmt.Sprintf("package %q is not known", path)
		if strings.HasPrefix(path, "kube/") {
			message += "; delete the import and what is unified with its definitions (`kube.#X &`)"
		}
		place := spec.Pos()
		problems = append(problems, Problem{Code: codeSyntax, Message: message, File: name, Line: place.Line(), Column: place.Column()})
	}
	return problems
}

// errorOf is what contradicts itself in a value; what is merely incomplete is no error.
func errorOf(value cue.Value) error { return value.Validate() }
