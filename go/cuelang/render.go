package cuelang

import (
	"encoding/json"

	"cuelang.org/go/cue"
)

// Render asks for a template's objects; with a base, for what its patches make of it.
type Render struct {
	Template
	Base *Objects `json:"base"`
}

// Rendered has no objects if the template reports errors of its own.
type Rendered struct {
	Objects
	Errs []string `json:"errs"`
	// Operations are JSON patches, which the caller applies.
	Operations *Operations `json:"operations,omitempty"`
}

// RenderObjects renders a component, a policy or a trait.
func RenderObjects(asked Render) (*Rendered, *Failed) {
	asked.Context = withBase(asked.Context, asked.Base)
	compiled, value, failure := shared.compiled(asked.Template)
	if failure != nil {
		return nil, failure
	}
	if errs, err := errsOf(value); err != nil {
		return nil, failed(problemsOf(err, codeConflict))
	} else if len(errs) > 0 {
		return &Rendered{Objects: Objects{Outputs: json.RawMessage("{}")}, Errs: errs}, nil
	}
	if err := errorOf(value); err != nil {
		return nil, failed(problemsOf(err, codeConflict))
	}
	objects, problems := objectsOf(value, compiled.file)
	if problems != nil {
		return nil, failed(append(missing(value, compiled.parameter), problems...))
	}
	if asked.Base == nil {
		return &Rendered{Objects: *objects, Errs: []string{}}, nil
	}
	rendered, problems := shared.patched(value, asked.Base, objects)
	if problems != nil {
		return nil, failed(append(missing(value, compiled.parameter), problems...))
	}
	return rendered, nil
}

// missing lists parameters without a value: usually why objects are incomplete.
func missing(value cue.Value, parameter string) []Problem {
	given := value.LookupPath(cue.ParsePath(parameter))
	err := given.Validate(cue.Concrete(true), cue.Final())
	if err == nil || given.IncompleteKind() == cue.TopKind {
		return nil
	}
	return problemsOf(err, codeIncomplete)
}

// errsOf are the template's own errors, as far as it has any.
func errsOf(value cue.Value) ([]string, error) {
	errs := value.LookupPath(cue.ParsePath("errs"))
	if !errs.Exists() {
		return nil, nil
	}
	items, err := errs.List()
	if err != nil {
		return nil, err
	}
	var found []string
	for items.Next() {
		text, err := items.Value().String()
		if err != nil {
			return nil, err
		}
		found = append(found, text)
	}
	return found, nil
}

// withBase lets a trait see what has been rendered so far, unless it is told already.
func withBase(context json.RawMessage, base *Objects) json.RawMessage {
	if base == nil {
		return context
	}
	var told map[string]json.RawMessage
	if len(context) > 0 && json.Unmarshal(context, &told) != nil {
		return context
	}
	if told == nil {
		told = map[string]json.RawMessage{}
	}
	if _, isTold := told["output"]; !isTold && base.Output != nil {
		told["output"] = base.Output
	}
	if _, isTold := told["outputs"]; !isTold && base.Outputs != nil {
		told["outputs"] = base.Outputs
	}
	text, err := json.Marshal(told)
	if err != nil {
		return context
	}
	return text
}

// Operations are patches as RFC 6902 has them, by what they change.
type Operations struct {
	Output  json.RawMessage            `json:"output,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
}
