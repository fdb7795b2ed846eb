package cuelang

import (
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// order is that of the fields of a struct in the text. The evaluator keeps it only roughly.
type order struct {
	ranks  map[string]int
	values map[string][]ast.Expr
	// dynamic is the rank of fields whose names are computed.
	dynamic int
	count   int
}

// References are followed so many times.
const maxReferences = 8

func orderOf(expressions []ast.Expr) *order {
	o := &order{ranks: map[string]int{}, values: map[string][]ast.Expr{}, dynamic: -1}
	for _, expr := range expressions {
		o.add(expr, 0)
	}
	return o
}

func orderOfFile(file *ast.File) *order {
	return orderOf([]ast.Expr{&ast.StructLit{Elts: file.Decls}})
}

// add reads what an expression says of fields; those of all elements of a list are read together.
func (o *order) add(expr ast.Expr, followed int) {
	switch expr := expr.(type) {
	case *ast.StructLit:
		o.addDecls(expr.Elts, followed)
	case *ast.ListLit:
		for _, element := range expr.Elts {
			o.add(element, followed)
		}
	case *ast.BinaryExpr:
		if expr.Op == token.AND || expr.Op == token.OR {
			o.add(expr.X, followed)
			o.add(expr.Y, followed)
		}
	case *ast.UnaryExpr:
		o.add(expr.X, followed)
	case *ast.ParenExpr:
		o.add(expr.X, followed)
	case *ast.Comprehension:
		o.add(expr.Value, followed)
	case *ast.CallExpr:
		for _, argument := range expr.Args {
			o.add(argument, followed)
		}
	case *ast.Ident:
		if field, isField := expr.Node.(*ast.Field); isField && followed < maxReferences {
			o.add(field.Value, followed+1)
		} else if value, isValue := expr.Node.(ast.Expr); isValue && followed < maxReferences {
			o.add(value, followed+1)
		}
	}
}

func (o *order) addDecls(decls []ast.Decl, followed int) {
	for _, decl := range decls {
		switch decl := decl.(type) {
		case *ast.Field:
			name, _, err := ast.LabelName(decl.Label)
			if err != nil {
				o.dynamic = o.count
			} else if _, isKnown := o.ranks[name]; !isKnown {
				o.ranks[name] = o.count
			}
			o.count++
			o.values[name] = append(o.values[name], decl.Value)
		case *ast.Comprehension:
			o.add(decl.Value, followed)
		case *ast.EmbedDecl:
			o.add(decl.Expr, followed)
		}
	}
}

func (o *order) rank(name string) int {
	if rank, isKnown := o.ranks[name]; isKnown {
		return rank
	}
	if o.dynamic >= 0 {
		return o.dynamic
	}
	return o.count
}

// of is the order inside of a field.
func (o *order) of(name string) *order {
	if _, isKnown := o.ranks[name]; !isKnown {
		name = ""
	}
	return orderOf(o.values[name])
}
