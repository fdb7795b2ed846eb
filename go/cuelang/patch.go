package cuelang

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
)

// How a part of a patch meets the base, told by comments above the field.
type strategy struct {
	name string
	keys []string
}

const (
	retainKeys     = "retainKeys"
	replace        = "replace"
	jsonPatch      = "jsonPatch"
	jsonMergePatch = "jsonMergePatch"
)

var tag = regexp.MustCompile(`\+(patchKey|patchStrategy)=([^\s]+)`)

// strategyOf reads `// +patchKey=name` and `// +patchStrategy=…`. Keys are also those of what is around.
func strategyOf(value cue.Value, around []string) strategy {
	comments := value.Doc()
	if source, isStruct := value.Source().(*ast.StructLit); isStruct {
		// Of an element of a list.
		comments = append(comments, ast.Comments(source)...)
	}
	found := strategy{keys: around}
	for _, group := range comments {
		for _, match := range tag.FindAllStringSubmatch(group.Text(), -1) {
			if match[1] == "patchKey" {
				found.keys = strings.Split(match[2], ",")
			} else {
				found.name = match[2]
			}
		}
	}
	return found
}

// merger merges a patch into a base, which is JSON as syntax, so that numbers and the order of members stay.
type merger struct {
	engine   *engine
	problems []Problem
}

// merge returns the base with the patch. What only one of them has stays; scalars are unified, lists as told.
func (m *merger) merge(base ast.Expr, patch cue.Value, how strategy) ast.Expr {
	chosen, _ := patch.Default()
	isKeyed := len(how.keys) > 0 && chosen.IncompleteKind() == cue.ListKind
	switch {
	case base == nil, how.name == replace, how.name == retainKeys && !isKeyed:
		return m.exported(patch)
	case how.name == jsonMergePatch:
		return mergedJSON(base, m.exported(patch))
	}
	switch base := base.(type) {
	case *ast.StructLit:
		if chosen.IncompleteKind() == cue.StructKind {
			return m.mergeStruct(base, chosen, how.keys)
		}
	case *ast.ListLit:
		if chosen.IncompleteKind() == cue.ListKind {
			return m.mergeList(base, chosen, patch, how)
		}
	}
	return m.unified(base, patch)
}

func (m *merger) mergeStruct(base *ast.StructLit, patch cue.Value, keys []string) ast.Expr {
	merged := ast.NewStruct()
	merged.Elts = append(merged.Elts, base.Elts...)
	fields, err := patch.Fields()
	if err != nil {
		m.problems = append(m.problems, problemsOf(err, codeIncomplete)...)
		return merged
	}
	for fields.Next() {
		name, value := fields.Selector().Unquoted(), fields.Value()
		at := memberAt(merged, name)
		if at < 0 {
			if made := m.merge(nil, value, strategy{}); made != nil {
				merged.Elts = append(merged.Elts, &ast.Field{Label: ast.NewString(name), Value: made})
			}
			continue
		}
		old := merged.Elts[at].(*ast.Field)
		merged.Elts[at] = &ast.Field{Label: old.Label, Value: m.merge(old.Value, value, strategyOf(value, keys))}
	}
	return merged
}

func memberAt(within *ast.StructLit, name string) int {
	for at, decl := range within.Elts {
		if field, isField := decl.(*ast.Field); isField {
			if label, _, err := ast.LabelName(field.Label); err == nil && label == name {
				return at
			}
		}
	}
	return -1
}

// mergeList has the patch twice: a list that is open is not any more once it is chosen.
func (m *merger) mergeList(base *ast.ListLit, patch, open cue.Value, how strategy) ast.Expr {
	merged := ast.NewList(base.Elts...)
	items, err := patch.List()
	if err != nil {
		m.problems = append(m.problems, problemsOf(err, codeIncomplete)...)
		return merged
	}
	isKeyed := hasAny(patch, how.keys)
	count := 0
	for ; items.Next(); count++ {
		at := count
		if isKeyed {
			at = matching(base, items.Value(), how.keys)
		}
		if at < 0 || at >= len(merged.Elts) {
			merged.Elts = append(merged.Elts, m.merge(nil, items.Value(), strategy{}))
			continue
		}
		element := strategyOf(items.Value(), how.keys)
		if how.name == retainKeys {
			element.name = retainKeys
		}
		merged.Elts[at] = m.merge(merged.Elts[at], items.Value(), element)
	}
	// What an open list says of its further elements is said of those of the base.
	if rest := open.LookupPath(cue.MakePath(cue.AnyIndex)); !isKeyed && rest.Exists() {
		for at := count; at < len(base.Elts); at++ {
			merged.Elts[at] = m.merge(merged.Elts[at], rest, strategy{})
		}
	}
	return merged
}

// hasAny tells whether some element has one of the keys; without, elements are merged by their index.
func hasAny(patch cue.Value, keys []string) bool {
	items, err := patch.List()
	for err == nil && items.Next() {
		for _, key := range keys {
			if items.Value().LookupPath(pathOfNames(strings.Split(key, "."))).Exists() {
				return true
			}
		}
	}
	return false
}

// matching finds the element of the base that has the same value of one of the keys, or -1.
func matching(base *ast.ListLit, element cue.Value, keys []string) int {
	for _, key := range keys {
		path := strings.Split(key, ".")
		wanted, err := element.LookupPath(pathOfNames(path)).MarshalJSON()
		for at, candidate := range base.Elts {
			if err == nil && canonicalText(wanted) == textAt(candidate, path) {
				return at
			}
		}
	}
	return -1
}

func pathOfNames(names []string) cue.Path {
	selectors := make([]cue.Selector, len(names))
	for at, name := range names {
		selectors[at] = cue.Str(name)
	}
	return cue.MakePath(selectors...)
}

// textAt is the scalar at the path as canonical JSON; empty if there is none.
func textAt(value ast.Expr, path []string) string {
	for _, name := range path {
		object, isObject := value.(*ast.StructLit)
		if !isObject {
			return ""
		}
		at := memberAt(object, name)
		if at < 0 {
			return ""
		}
		value = object.Elts[at].(*ast.Field).Value
	}
	text, err := jsonText(value)
	if err != nil {
		return ""
	}
	return canonicalText(text)
}

func canonicalText(text json.RawMessage) string {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	written, _ := json.Marshal(value)
	return string(written)
}

// unified is for scalars, and for what only CUE can judge.
func (m *merger) unified(base ast.Expr, patch cue.Value) ast.Expr {
	value := m.engine.context.BuildExpr(base)
	both := value.Unify(patch)
	if err := both.Validate(cue.Concrete(true), cue.Final()); err != nil {
		m.conflict(base, patch, err)
		return base
	}
	return m.exported(both)
}

func (m *merger) conflict(base ast.Expr, patch cue.Value, err error) {
	at := patch.Path().String()
	for _, problem := range problemsOf(err, codeConflict) {
		problem.Path = at
		if text, err := jsonText(base); err == nil && !strings.Contains(problem.Message, string(text)) {
			problem.Message = fmt.Sprintf("%s (the base has %s)", problem.Message, text)
		}
		m.problems = append(m.problems, problem)
	}
}

// exported is the patch's own value; parts that are not concrete are problems.
func (m *merger) exported(value cue.Value) ast.Expr {
	text, err := jsonOf(value)
	if err != nil {
		m.problems = append(m.problems, problemsOf(err, codeIncomplete)...)
		return ast.NewNull()
	}
	expr, failure := jsonExpr(fileBase, text)
	if failure != nil {
		m.problems = append(m.problems, failure.Problems...)
	}
	if expr == nil {
		return ast.NewNull()
	}
	return expr
}

// mergedJSON applies a merge patch as RFC 7386 has it.
func mergedJSON(base, patch ast.Expr) ast.Expr {
	changes, isStruct := patch.(*ast.StructLit)
	if !isStruct {
		return patch
	}
	merged := ast.NewStruct()
	if old, isStruct := base.(*ast.StructLit); isStruct {
		merged.Elts = append(merged.Elts, old.Elts...)
	}
	for _, decl := range changes.Elts {
		field := decl.(*ast.Field)
		name, _, _ := ast.LabelName(field.Label)
		at := memberAt(merged, name)
		switch {
		case isNull(field.Value) && at >= 0:
			merged.Elts = append(merged.Elts[:at:at], merged.Elts[at+1:]...)
		case isNull(field.Value):
		case at >= 0:
			old := merged.Elts[at].(*ast.Field)
			merged.Elts[at] = &ast.Field{Label: old.Label, Value: mergedJSON(old.Value, field.Value)}
		default:
			merged.Elts = append(merged.Elts, &ast.Field{Label: field.Label, Value: mergedJSON(nil, field.Value)})
		}
	}
	return merged
}

func isNull(value ast.Expr) bool {
	basic, isBasic := value.(*ast.BasicLit)
	return isBasic && basic.Value == "null"
}

// jsonText writes what jsonExpr reads.
func jsonText(value ast.Expr) (json.RawMessage, error) {
	switch value := value.(type) {
	case *ast.StructLit:
		members := newObject()
		for _, decl := range value.Elts {
			field := decl.(*ast.Field)
			name, _, err := ast.LabelName(field.Label)
			if err != nil {
				return nil, err
			}
			text, err := jsonText(field.Value)
			if err != nil {
				return nil, err
			}
			members.add(name, text)
		}
		return members.end(), nil
	case *ast.ListLit:
		texts := make([]string, len(value.Elts))
		for at, element := range value.Elts {
			text, err := jsonText(element)
			if err != nil {
				return nil, err
			}
			texts[at] = string(text)
		}
		return json.RawMessage("[" + strings.Join(texts, ",") + "]"), nil
	case *ast.BasicLit:
		return scalarText(value.Value)
	case *ast.UnaryExpr:
		text, err := jsonText(value.X)
		return append(json.RawMessage(value.Op.String()), text...), err
	}
	return nil, fmt.Errorf("unexpected %T in JSON", value)
}

func scalarText(text string) (json.RawMessage, error) {
	if strings.IndexAny(text, "\"'#") != 0 {
		return json.RawMessage(text), nil
	}
	unquoted, err := literal.Unquote(text)
	if err != nil {
		return nil, err
	}
	return json.Marshal(unquoted)
}
