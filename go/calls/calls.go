// Package calls is the one door of the module: a question as JSON, an answer as JSON.
package calls

import (
	"encoding/json"
	"fmt"

	"slipway/template/cuelang"
	"slipway/template/rebar"
	"slipway/template/workflow"
)

// Answer has exactly one of its members.
type Answer struct {
	Value   any               `json:"value,omitempty"`
	Failure *workflow.Failure `json:"failure,omitempty"`
	// Misuse is a question that the caller should not have asked.
	Misuse string `json:"misuse,omitempty"`
	// IsUnknown asks for the sources of packages, whose hash is all that the question has.
	IsUnknown bool `json:"unknownPackages,omitempty"`
}

type operation func(question []byte) (Answer, error)

var operations = map[string]operation{
	"parse":              asked(workflow.Parse),
	"render":             asked(workflow.Render),
	"renderActions":      asked(workflow.RenderActions),
	"cue":                asked(evaluate),
	"helm":               asked(renderChart),
	"cueRender":          cued(cuelang.RenderObjects),
	"cueNext":            cued(cuelang.Next),
	"cueLookup":          cued(cuelang.LookUp),
	"cuePatch":           cued(cuelang.MergePatch),
	"cueBoolean":         cued(cuelang.EvaluateBoolean),
	"cueReferences":      cued(cuelang.FindReferences),
	"cueUpgrade":         cued(cuelang.Upgrade),
	"cueHealth":          cued(cuelang.JudgeHealth),
	"cueSchema":          cued(cuelang.SchemaOf),
	"cueVet":             cued(cuelang.Vet),
	"cueReadDefinition":  cued(cuelang.ReadDefinition),
	"cueWriteDefinition": cued(cuelang.WriteDefinition),
	"rebarRender":        attempted(rebar.Render),
	"rebarCheck":         attempted(func(request rebar.CheckRequest) (*rebar.Checked, error) { return rebar.Check(request), nil }),
}

// Reply answers one question. It never fails: whatever is wrong is part of the answer.
func Reply(question []byte) []byte {
	answer, err := reply(question)
	if err != nil {
		answer = Answer{Misuse: err.Error()}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		text, _ = json.Marshal(Answer{Misuse: err.Error()})
	}
	return text
}

func reply(question []byte) (Answer, error) {
	var head struct {
		Operation string `json:"operation"`
	}
	if err := json.Unmarshal(question, &head); err != nil {
		return Answer{}, err
	}
	run, isKnown := operations[head.Operation]
	if !isKnown {
		return Answer{}, fmt.Errorf("there is no operation %q", head.Operation)
	}
	return run(question)
}

func asked[Q, V any](run func(Q) (*V, *workflow.Failure)) operation {
	return func(question []byte) (Answer, error) {
		var request Q
		if err := json.Unmarshal(question, &request); err != nil {
			return Answer{}, err
		}
		value, failure := run(request)
		if failure != nil {
			return Answer{Failure: failure}, nil
		}
		return Answer{Value: value}, nil
	}
}

// attempted makes an operation of a function whose errors are misuse.
func attempted[Q, V any](run func(Q) (*V, error)) operation {
	return func(question []byte) (Answer, error) {
		var request Q
		if err := json.Unmarshal(question, &request); err != nil {
			return Answer{}, err
		}
		value, err := run(request)
		if err != nil {
			return Answer{}, err
		}
		return Answer{Value: value}, nil
	}
}
