package cuelang

import (
	"encoding/json"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// patched merges the template's patches into the base and appends its outputs.
func (e *engine) patched(value cue.Value, base *Objects, own *Objects) (*Rendered, []Problem) {
	rendered := &Rendered{Objects: Objects{Output: base.Output, Outputs: base.Outputs}, Errs: []string{}}
	outputs, failure := jsonExpr(fileBase, base.Outputs)
	if failure != nil {
		return nil, failure.Problems
	}
	members, isStruct := outputs.(*ast.StructLit)
	if !isStruct {
		members = ast.NewStruct()
	}
	var problems []Problem
	if patch := value.LookupPath(cue.ParsePath("patch")); patch.Exists() {
		text, operations, wrong := e.patchedObject(base.Output, patch)
		problems = append(problems, wrong...)
		if operations != nil {
			rendered.Operations = &Operations{Output: operations}
		} else {
			rendered.Output = text
		}
	}
	problems = append(problems, e.patchOutputs(value, members, rendered)...)
	problems = append(problems, appendOutputs(members, own.Outputs)...)
	if own.Output != nil && base.Output == nil {
		rendered.Output = own.Output
	}
	text, err := jsonText(members)
	if err != nil {
		return nil, failedWith(err.Error()).Problems
	}
	rendered.Outputs = text
	return rendered, problems
}

// patchedObject returns the object with the patch, or operations for the caller.
func (e *engine) patchedObject(base json.RawMessage, patch cue.Value) (json.RawMessage, json.RawMessage, []Problem) {
	expr, failure := jsonExpr(fileBase, base)
	if failure != nil {
		return nil, nil, failure.Problems
	}
	if expr == nil {
		expr = ast.NewStruct()
	}
	how := strategyOf(patch, nil)
	if how.name == jsonPatch {
		operations, err := jsonOf(patch.LookupPath(cue.ParsePath("operations")))
		if err != nil {
			return nil, nil, problemsOf(err, codeIncomplete)
		}
		return nil, operations, nil
	}
	m := &merger{engine: e}
	merged := m.merge(expr, patch, how)
	if len(m.problems) > 0 {
		return nil, nil, m.problems
	}
	text, err := jsonText(merged)
	if err != nil {
		return nil, nil, failedWith(err.Error()).Problems
	}
	return text, nil, nil
}

// patchOutputs changes the members; patches of objects that do not exist are left out.
func (e *engine) patchOutputs(value cue.Value, members *ast.StructLit, rendered *Rendered) []Problem {
	patches := value.LookupPath(cue.ParsePath("patchOutputs"))
	if !patches.Exists() {
		return nil
	}
	fields, err := patches.Fields()
	if err != nil {
		return problemsOf(err, codeIncomplete)
	}
	var problems []Problem
	for fields.Next() {
		name := fields.Selector().Unquoted()
		at := memberAt(members, name)
		if at < 0 {
			continue
		}
		field := members.Elts[at].(*ast.Field)
		old, err := jsonText(field.Value)
		if err != nil {
			problems = append(problems, failedWith(err.Error()).Problems...)
			continue
		}
		text, operations, wrong := e.patchedObject(old, fields.Value())
		problems = append(problems, wrong...)
		if operations != nil {
			rendered.addOperations(name, operations)
		} else if expr, failure := jsonExpr(fileBase, text); failure == nil && expr != nil {
			members.Elts[at] = &ast.Field{Label: field.Label, Value: expr}
		}
	}
	return problems
}

func (r *Rendered) addOperations(name string, operations json.RawMessage) {
	if r.Operations == nil {
		r.Operations = &Operations{}
	}
	if r.Operations.Outputs == nil {
		r.Operations.Outputs = map[string]json.RawMessage{}
	}
	r.Operations.Outputs[name] = operations
}

// appendOutputs adds the template's own outputs, which replace those of the same name.
func appendOutputs(members *ast.StructLit, outputs json.RawMessage) []Problem {
	expr, failure := jsonExpr(fileBase, outputs)
	if failure != nil {
		return failure.Problems
	}
	own, isStruct := expr.(*ast.StructLit)
	if !isStruct {
		return nil
	}
	for _, decl := range own.Elts {
		name, _, _ := ast.LabelName(decl.(*ast.Field).Label)
		if at := memberAt(members, name); at >= 0 {
			members.Elts[at] = decl
		} else {
			members.Elts = append(members.Elts, decl)
		}
	}
	return nil
}
