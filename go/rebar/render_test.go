package rebar

import (
	"encoding/json"
	"reflect"
	"testing"
)

// The tests of src/dialects/rebar/render ask the WebAssembly module for what templates see; here is how it is asked.

func render(t *testing.T, question string) *Rendered {
	t.Helper()
	var request Request
	if err := json.Unmarshal([]byte(question), &request); err != nil {
		t.Fatal(err)
	}
	request.MaxBytes = 1000
	rendered, err := Render(request)
	if err != nil {
		t.Fatal(err)
	}
	return rendered
}

func source(text string) string {
	written, _ := json.Marshal(text)
	return `{"templates":[{"name":"a","text":` + string(written) + `,"isInline":true}],"actions":[{"name":"a","shown":"a"}]}`
}

func TestNeeds(t *testing.T) {
	for text, want := range map[string]Needs{
		`{{.Param "k"}}`:                      {Params: []string{"k"}},
		`{{.ComposeParam "k"}}`:               {Composed: []string{"k"}},
		`{{.ParamExists "k" | toJson}}`:       {Params: []string{"k"}},
		`{{if false}}{{template "x"}}{{end}}`: {Templates: []string{"x"}},
		`{{.CallTemplate "x" .}}`:             {Templates: []string{"x"}},
		`{{.Machine.Params}}`:                 {MachineParams: true},
		`{{.Machine | toJson}}`:               {MachineParams: true},
		`{{.GenerateProfileToken "p" 5}}`:     {Tokens: []string{"profile:5:p"}},
		`{{.Info.Version}}`:                   {Info: true},
	} {
		name, _ := json.Marshal(text)
		got := render(t, `{"set":`+string(name)+`,"actions":[0],"machine":{"Profiles":["p"]},"parts":{`+string(name)+`:`+source(text)+`}}`)
		if got.Needs == nil || !reflect.DeepEqual(*got.Needs, want) {
			t.Errorf("%s: got %+v", text, got)
		}
	}
}

func TestParts(t *testing.T) {
	question := `{"set":"set-1","task":"task-1","params":{"k":{"part":"value-1"}},"actions":[0]`
	if got := render(t, question+"}"); !reflect.DeepEqual(got.Needs.Parts, []string{"set-1", "task-1", "value-1"}) {
		t.Fatalf("got %+v", got.Needs)
	}
	parts := `,"parts":{"set-1":` + source(`{{.Task.Name}}{{$_ := set (.Param "k") "a" 2}}{{(.Param "k").a}}`) +
		`,"task-1":{"Name":"t"},"value-1":{"a":1}}}`
	for _, end := range []string{parts, "}", "}"} {
		if got := render(t, question+end); got.Needs != nil || got.Actions[0].Content != "t1" {
			t.Fatalf("got %+v", got)
		}
	}
}

func TestWrittenTooMuch(t *testing.T) {
	got := render(t, `{"set":"much","actions":[0],"parts":{"much":`+source(`{{repeat 1001 "x"}}`)+`}}`)
	if len(got.Messages) != 1 || len(got.Actions) != 0 {
		t.Fatalf("got %+v", got)
	}
}

func TestOnly(t *testing.T) {
	source := `{"templates":[{"name":"a","text":"{{fail \"never\"}}"},{"name":"b","text":"x"}],` +
		`"actions":[{"name":"a","shown":"a","path":"a"},{"name":"a","shown":"c"},{"name":"b","shown":"b","path":"b/{{1}}"}]}`
	got := render(t, `{"set":"only","actions":[0,1,2],"only":"b/1","parts":{"only":`+source+`}}`)
	if len(got.Messages) != 0 || !reflect.DeepEqual(got.Actions, []Action{{At: 2, Path: "b/1", Content: "x"}}) {
		t.Fatalf("got %+v", got)
	}
}
