package cuelang

import (
	"encoding/json"
	"fmt"
	"sort"
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

const fileExpression = "expression"

// An expression costs less than a template; so many count as one compilation.
const expressionsPerCompilation = 10

// expression evaluates over the members of a scope. It may begin with imports of CUE's own packages.
func (e *engine) expression(text string, scope cue.Value) (cue.Value, *Failed) {
	expr, err := parser.ParseExpr(fileExpression, text)
	if err == nil {
		if e.expressions++; e.expressions%expressionsPerCompilation == 0 {
			e.compilations++
		}
		return e.context.BuildExpr(expr, cue.Scope(scope), cue.InferBuiltins(true)), nil
	}
	file, fileErr := parser.ParseFile(fileExpression, text)
	if fileErr != nil || len(file.Imports) == 0 {
		return cue.Value{}, failed(problemsOf(err, codeSyntax))
	}
	value, failure := e.buildFile(file, nil, cue.Scope(scope))
	if failure != nil {
		return cue.Value{}, failed(problemsOf(failure, codeSyntax))
	}
	return value, nil
}

// Condition is an expression that has to be true or false.
type Condition struct {
	Expression string          `json:"expression"`
	Scope      json.RawMessage `json:"scope"`
}

// EvaluateBoolean answers a condition.
func EvaluateBoolean(asked Condition) (*bool, *Failed) {
	shared.refresh()
	members, failure := jsonExpr("scope", asked.Scope)
	if failure != nil {
		return nil, failure
	}
	if members == nil {
		members = ast.NewStruct()
	}
	value, failure := shared.expression(asked.Expression, shared.context.BuildExpr(members))
	if failure != nil {
		return nil, failure
	}
	if err := value.Err(); err != nil {
		return nil, failed(problemsOf(err, codeConflict))
	}
	value, _ = value.Default()
	answer, err := value.Bool()
	if err != nil {
		return nil, failedWith(fmt.Sprintf("expected true or false, found %s", kindName(value)))
	}
	return &answer, nil
}

func kindName(value cue.Value) string { return value.IncompleteKind().String() }

// References asks for what an expression refers to.
type References struct {
	Expression string `json:"expression"`
}

// FindReferences lists free references with their selectors, in order.
func FindReferences(asked References) (*[]string, *Failed) {
	file, err := parser.ParseFile(fileExpression, asked.Expression)
	if expr, exprErr := parser.ParseExpr(fileExpression, asked.Expression); exprErr == nil {
		file, err = &ast.File{Decls: []ast.Decl{&ast.EmbedDecl{Expr: expr}}}, nil
	} else if err != nil || len(file.Imports) == 0 {
		return nil, failed(problemsOf(exprErr, codeSyntax))
	}
	seen := map[string]int{}
	finder := &finder{seen: seen, imports: map[string]bool{}}
	for _, spec := range file.Imports {
		finder.imports[importName(spec)] = true
	}
	finder.walk(file, nil)
	found := make([]string, 0, len(seen))
	for reference := range seen {
		found = append(found, reference)
	}
	sort.Slice(found, func(a, b int) bool { return seen[found[a]] < seen[found[b]] })
	return &found, nil
}

type finder struct {
	seen    map[string]int
	imports map[string]bool
}

// scope is a chain of names that are bound inside of an expression.
type scope struct {
	names map[string]bool
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.names[name] {
			return true
		}
	}
	return false
}

func (f *finder) walk(node ast.Node, bound *scope) {
	ast.Walk(node, func(node ast.Node) bool { return f.visit(node, bound) }, nil)
}

// visit reports whether children are to be walked in the same scope.
func (f *finder) visit(node ast.Node, bound *scope) bool {
	switch node := node.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr:
		return f.reference(node.(ast.Expr), bound)
	case *ast.ImportDecl:
		return false
	case *ast.StructLit:
		inner := &scope{names: declared(node.Elts), outer: bound}
		for _, decl := range node.Elts {
			f.walk(decl, inner)
		}
		return false
	case *ast.Field:
		if _, isPlain := node.Label.(*ast.Ident); !isPlain {
			f.walk(node.Label, bound)
		}
		f.walk(node.Value, bound)
		return false
	case *ast.Comprehension:
		for _, clause := range node.Clauses {
			bound = f.clause(clause, bound)
		}
		f.walk(node.Value, bound)
		return false
	}
	return true
}

func (f *finder) clause(clause ast.Clause, bound *scope) *scope {
	switch clause := clause.(type) {
	case *ast.ForClause:
		f.walk(clause.Source, bound)
		names := map[string]bool{clause.Value.Name: true}
		if clause.Key != nil {
			names[clause.Key.Name] = true
		}
		return &scope{names, bound}
	case *ast.LetClause:
		f.walk(clause.Expr, bound)
		return &scope{map[string]bool{clause.Ident.Name: true}, bound}
	case *ast.IfClause:
		f.walk(clause.Condition, bound)
	}
	return bound
}

func declared(decls []ast.Decl) map[string]bool {
	names := map[string]bool{}
	for _, decl := range decls {
		switch decl := decl.(type) {
		case *ast.Field:
			if identifier, isIdentifier := decl.Label.(*ast.Ident); isIdentifier {
				names[identifier.Name] = true
			}
		case *ast.LetClause:
			names[decl.Ident.Name] = true
		}
	}
	return names
}

var predeclared = map[string]bool{
	"_": true, "bool": true, "bytes": true, "string": true, "int": true, "float": true, "number": true, "rune": true, "len": true,
	"close": true, "and": true, "or": true, "div": true, "mod": true, "quo": true, "rem": true, "null": true, "true": true,
	"false": true, "uint": true, "int8": true, "int16": true, "int32": true, "int64": true, "int128": true, "uint8": true,
	"uint16": true, "uint32": true, "uint64": true, "uint128": true, "float32": true, "float64": true,
}

// reference notes the longest chain of selectors that begins with a free name.
func (f *finder) reference(expr ast.Expr, bound *scope) bool {
	text, root := chain(expr)
	if root == nil {
		return true
	}
	if !predeclared[root.Name] && !f.imports[root.Name] && !bound.has(root.Name) {
		if _, isSeen := f.seen[text]; !isSeen {
			f.seen[text] = len(f.seen)
		}
	}
	// Expressions inside of brackets that are not literals are references themselves.
	for inner := expr; ; {
		if index, isIndex := inner.(*ast.IndexExpr); isIndex {
			f.walk(index.Index, bound)
			inner = index.X
		} else if selector, isSelector := inner.(*ast.SelectorExpr); isSelector {
			inner = selector.X
		} else {
			break
		}
	}
	return false
}

// chain writes selectors from a name; what comes after an index that is no literal is left out.
func chain(expr ast.Expr) (string, *ast.Ident) {
	text, root, _ := chainOf(expr)
	return text, root
}

func chainOf(expr ast.Expr) (string, *ast.Ident, bool) {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name, expr, true
	case *ast.SelectorExpr:
		text, root, isWhole := chainOf(expr.X)
		if name, _, err := ast.LabelName(expr.Sel); isWhole && err == nil {
			if _, isQuoted := expr.Sel.(*ast.BasicLit); isQuoted {
				return text + "[" + strconv.Quote(name) + "]", root, true
			}
			return text + "." + name, root, true
		}
		return text, root, false
	case *ast.IndexExpr:
		text, root, isWhole := chainOf(expr.X)
		if literal, isLiteral := expr.Index.(*ast.BasicLit); isWhole && isLiteral && (literal.Kind == token.STRING || literal.Kind == token.INT) {
			return text + "[" + literal.Value + "]", root, true
		}
		return text, root, false
	}
	return "", nil, false
}
