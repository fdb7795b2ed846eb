package cuelang

import (
	"encoding/json"
	"fmt"

	"cuelang.org/go/cue"
)

// Objects are what a template renders. Outputs keep their order.
type Objects struct {
	Output  json.RawMessage `json:"output,omitempty"`
	Outputs json.RawMessage `json:"outputs"`
}

// objectsOf exports `output` and the regular fields of `outputs`.
func objectsOf(value cue.Value) (*Objects, []Problem) {
	objects := &Objects{}
	var problems []Problem
	if output := value.LookupPath(cue.ParsePath("output")); output.Exists() {
		text, wrong := objectOf(output)
		objects.Output, problems = text, wrong
	}
	outputs, wrong := outputsOf(value)
	objects.Outputs = outputs
	return objects, append(problems, wrong...)
}

func outputsOf(value cue.Value) (json.RawMessage, []Problem) {
	outputs := value.LookupPath(cue.ParsePath("outputs"))
	members := newObject()
	var problems []Problem
	if outputs.Exists() {
		fields, err := outputs.Fields()
		if err != nil {
			return nil, problemsOf(err, codeIncomplete)
		}
		for fields.Next() {
			text, wrong := objectOf(fields.Value())
			problems = append(problems, wrong...)
			members.add(fields.Selector().Unquoted(), text)
		}
	}
	return members.end(), problems
}

func objectOf(value cue.Value) (json.RawMessage, []Problem) {
	text, err := jsonOf(value)
	if err != nil {
		return nil, problemsOf(err, codeIncomplete)
	}
	if text[0] != '{' {
		message := fmt.Sprintf("expected an object, found %s", kindName(value))
		problem := Problem{Code: codeConflict, Message: message, Path: value.Path().String()}
		place := value.Pos()
		problem.File, problem.Line, problem.Column = place.Filename(), place.Line(), place.Column()
		return nil, []Problem{problem}
	}
	return text, nil
}
