package cuelang

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
)

// A segment of an input's path is a name or an index.
type segment struct {
	name    string
	index   int
	isIndex bool
}

// Longer lists are mistakes.
const maxIndex = 10000

// withInputs replaces parts of the parameter, which is nil if there is none.
func withInputs(parameter ast.Expr, inputs []Input) (ast.Expr, *Failed) {
	for _, input := range inputs {
		path, err := parseKey(input.Path)
		if err != nil {
			return nil, failedWith(err.Error())
		}
		value, failure := jsonExpr(fileParameter, input.Value)
		if failure != nil {
			return nil, failure
		}
		if value == nil {
			value = ast.NewNull()
		}
		parameter = replaced(parameter, path, value)
	}
	return parameter, nil
}

// parseKey reads `a.b[0].c["x-y"]`.
func parseKey(text string) ([]segment, error) {
	var path []segment
	for rest := text; rest != ""; {
		var next segment
		var err error
		if strings.HasPrefix(rest, "[") {
			next, rest, err = parseBracket(rest)
		} else {
			next, rest, err = parseName(rest)
		}
		if err != nil {
			return nil, fmt.Errorf("invalid parameterKey %q: %w", text, err)
		}
		path = append(path, next)
		if dotted := strings.TrimPrefix(rest, "."); dotted != rest {
			if rest = dotted; rest == "" {
				return nil, fmt.Errorf("invalid parameterKey %q: it ends with a dot", text)
			}
		}
	}
	return path, nil
}

func parseBracket(text string) (segment, string, error) {
	if strings.HasPrefix(text, `["`) {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil || !strings.HasPrefix(text[1+len(quoted):], "]") {
			return segment{}, "", fmt.Errorf("expected a quoted key and ]")
		}
		name, err := strconv.Unquote(quoted)
		return segment{name: name}, text[len(quoted)+2:], err
	}
	inside, rest, isClosed := strings.Cut(text[1:], "]")
	index, err := strconv.Atoi(inside)
	if !isClosed || err != nil || index < 0 || index > maxIndex {
		return segment{}, "", fmt.Errorf("expected an index up to %d or a quoted key in brackets", maxIndex)
	}
	return segment{index: index, isIndex: true}, rest, nil
}

func parseName(text string) (segment, string, error) {
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return segment{}, "", fmt.Errorf("the quoted key is not closed")
		}
		name, err := strconv.Unquote(quoted)
		return segment{name: name}, text[len(quoted):], err
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return segment{}, "", fmt.Errorf("a key is empty")
	}
	return segment{name: text[:end]}, text[end:], nil
}

// replaced returns the expression with another value at the path, creating what is missing. Nothing given is changed.
func replaced(within ast.Expr, path []segment, value ast.Expr) ast.Expr {
	if len(path) == 0 {
		return value
	}
	if next := path[0]; !next.isIndex {
		return replacedMember(within, next.name, path[1:], value)
	}
	list := &ast.ListLit{}
	if old, isList := within.(*ast.ListLit); isList {
		list.Elts = append(list.Elts, old.Elts...)
	}
	for len(list.Elts) <= path[0].index {
		list.Elts = append(list.Elts, ast.NewStruct())
	}
	list.Elts[path[0].index] = replaced(list.Elts[path[0].index], path[1:], value)
	return list
}

func replacedMember(within ast.Expr, name string, path []segment, value ast.Expr) ast.Expr {
	members := &ast.StructLit{}
	isThere := false
	if old, isStruct := within.(*ast.StructLit); isStruct {
		for _, decl := range old.Elts {
			field, isField := decl.(*ast.Field)
			if label, _, _ := ast.LabelName(field.Label); isField && label == name {
				isThere = true
				decl = &ast.Field{Label: field.Label, Value: replaced(field.Value, path, value)}
			}
			members.Elts = append(members.Elts, decl)
		}
	}
	if !isThere {
		members.Elts = append(members.Elts, &ast.Field{Label: ast.NewString(name), Value: replaced(nil, path, value)})
	}
	return members
}
