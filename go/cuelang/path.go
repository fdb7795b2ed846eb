package cuelang

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
)

// Hidden fields of texts without a package clause belong to this package.
const anonymous = "_"

// parsePath reads what pathText writes, hidden fields included. It is nil for what is no path.
func parsePath(text string) []cue.Selector {
	expr, err := parser.ParseExpr("path", text)
	if err != nil {
		return nil
	}
	return selectors(expr)
}

func selectors(expr ast.Expr) []cue.Selector {
	switch expr := expr.(type) {
	case *ast.Ident:
		return []cue.Selector{selectorOf(expr)}
	case *ast.BasicLit:
		// At the beginning of a path, a quoted name is a field.
		if name, err := strconv.Unquote(expr.Value); expr.Kind == token.STRING && err == nil {
			return []cue.Selector{cue.Str(name)}
		}
	case *ast.SelectorExpr:
		if outer := selectors(expr.X); outer != nil {
			return append(outer, selectorOf(expr.Sel))
		}
	case *ast.IndexExpr:
		literal, isLiteral := expr.Index.(*ast.BasicLit)
		outer := selectors(expr.X)
		if !isLiteral || outer == nil {
			return nil
		}
		if index, err := strconv.Atoi(literal.Value); err == nil {
			return append(outer, cue.Index(index))
		}
		if name, err := strconv.Unquote(literal.Value); err == nil {
			return append(outer, cue.Str(name))
		}
	}
	return nil
}

func selectorOf(label ast.Label) cue.Selector {
	identifier, isIdentifier := label.(*ast.Ident)
	if isIdentifier && strings.HasPrefix(identifier.Name, "_") {
		return cue.Hid(identifier.Name, anonymous)
	}
	return cue.Label(label)
}

// unknownMembers names what packages of the host do not define.
func unknownMembers(file *ast.File, known packages, name string) []Problem {
	var problems []Problem
	ast.Walk(file, func(node ast.Node) bool {
		selector, isSelector := node.(*ast.SelectorExpr)
		if !isSelector {
			return true
		}
		identifier, isIdentifier := selector.X.(*ast.Ident)
		if !isIdentifier {
			return true
		}
		spec, isImport := identifier.Node.(*ast.ImportSpec)
		if !isImport {
			return true
		}
		instance, isKnown := known[importPath(spec)]
		if member, _, err := ast.LabelName(selector.Sel); isKnown && err == nil && !known.defines(instance.ImportPath, member) {
			place := selector.Sel.Pos()
			message := fmt.Sprintf("%s.%s is not defined in %q", identifier.Name, member, instance.ImportPath)
			problems = append(problems, Problem{Code: codeConflict, Message: message, File: name, Line: place.Line(), Column: place.Column()})
		}
		return true
	}, nil)
	return problems
}

func (p packages) defines(path, member string) bool {
	for _, file := range p[path].Files {
		for _, decl := range file.Decls {
			if field, isField := decl.(*ast.Field); isField {
				if label, _, err := ast.LabelName(field.Label); err == nil && label == member {
					return true
				}
			}
		}
	}
	return false
}
