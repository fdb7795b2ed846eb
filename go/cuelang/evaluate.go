// Package cuelang evaluates CUE texts over JSON.
package cuelang

import (
	"encoding/json"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
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

// Problem is one of CUE's errors, at the first of the places it names.
type Problem struct {
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// Evaluate compiles, unifies and exports. A context of CUE keeps all it has ever compiled, so each question has its own.
func Evaluate(request Request) (*Evaluated, []Problem) {
	context := cuecontext.New()
	value := context.CompileString(request.Text, cue.Filename(request.File))
	if err := value.Err(); err != nil {
		return nil, problemsOf(err)
	}
	if len(request.Context) > 0 && string(request.Context) != "null" {
		given := context.CompileBytes(request.Context, cue.Filename("context.json"))
		value = value.Unify(given)
	}
	if request.Path != "" {
		path := cue.ParsePath(request.Path)
		if err := path.Err(); err != nil {
			return nil, problemsOf(err)
		}
		value = value.LookupPath(path)
	}
	text, err := value.MarshalJSON()
	if err != nil {
		return nil, problemsOf(err)
	}
	return &Evaluated{JSON: text}, nil
}

func problemsOf(err error) []Problem {
	var found []Problem
	for _, each := range errors.Errors(err) {
		problem := Problem{Message: each.Error()}
		for _, element := range each.Path() {
			if problem.Path != "" {
				problem.Path += "."
			}
			problem.Path += element
		}
		if places := errors.Positions(each); len(places) > 0 {
			problem.File, problem.Line, problem.Column = places[0].Filename(), places[0].Line(), places[0].Column()
		}
		found = append(found, problem)
	}
	return found
}
