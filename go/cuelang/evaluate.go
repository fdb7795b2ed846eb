// Package cuelang evaluates CUE texts over JSON.
package cuelang

import (
	"encoding/json"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// Request asks for one value of a text, after the context has been unified with it.
type Request struct {
	// Text is one file of CUE, and File what its errors call it.
	Text string `json:"text"`
	File string `json:"file"`
	// Context is JSON that is put at the root of the text, or absent.
	Context json.RawMessage `json:"context"`
	// Path is of the value that is wanted; empty for all.
	Path string `json:"path"`
}

// Evaluated is a concrete value.
type Evaluated struct {
	JSON json.RawMessage `json:"json"`
}

// Evaluate compiles, unifies and exports. A context of CUE keeps all it has ever compiled, so each question has its own.
func Evaluate(request Request) (*Evaluated, []Problem) {
	context := cuecontext.New()
	value := context.CompileString(request.Text, cue.Filename(request.File))
	if err := value.Err(); err != nil {
		return nil, problemsOf(err, "")
	}
	if len(request.Context) > 0 && string(request.Context) != "null" {
		given := context.CompileBytes(request.Context, cue.Filename(fileJSON))
		value = value.Unify(given)
	}
	if request.Path != "" {
		path := cue.ParsePath(request.Path)
		if err := path.Err(); err != nil {
			return nil, problemsOf(err, "")
		}
		value = value.LookupPath(path)
	}
	text, err := value.MarshalJSON()
	if err != nil {
		return nil, problemsOf(err, "")
	}
	return &Evaluated{JSON: text}, nil
}
