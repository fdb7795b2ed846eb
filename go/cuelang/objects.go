package cuelang

import (
	"encoding/json"
	"fmt"
	"sort"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// Objects are what a template renders. Outputs keep their order.
type Objects struct {
	Output  json.RawMessage `json:"output,omitempty"`
	Outputs json.RawMessage `json:"outputs"`
}

// objectsOf exports `output` and the regular fields of `outputs`.
func objectsOf(value cue.Value, file *ast.File) (*Objects, []Problem) {
	objects := &Objects{}
	var problems []Problem
	if output := value.LookupPath(cue.ParsePath("output")); output.Exists() {
		text, wrong := objectOf(output)
		objects.Output, problems = text, wrong
	}
	outputs, wrong := outputsOf(value, orderOfFile(file).of("outputs"))
	objects.Outputs = outputs
	return objects, append(problems, wrong...)
}

func outputsOf(value cue.Value, order *order) (json.RawMessage, []Problem) {
	outputs := value.LookupPath(cue.ParsePath("outputs"))
	members := newObject()
	var problems []Problem
	if outputs.Exists() {
		fields, err := outputs.Fields()
		if err != nil {
			return nil, problemsOf(err, codeIncomplete)
		}
		var found []member
		for fields.Next() {
			name := fields.Selector().Unquoted()
			found = append(found, member{value: fields.Value(), name: name, rank: order.rank(name)})
		}
		sort.SliceStable(found, func(a, b int) bool { return found[a].rank < found[b].rank })
		for _, each := range found {
			text, wrong := objectOf(each.value)
			problems = append(problems, wrong...)
			members.add(each.name, text)
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
