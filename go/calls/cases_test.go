package calls

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The tables in testdata are those of the tests of the WebAssembly module, which must answer the same.

const maxBytes = 262144

type object = map[string]any

func readCases(t *testing.T, name string) []object {
	t.Helper()
	text, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var cases []object
	if err := yaml.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

type failed struct {
	Message  string
	Rendered string
	Problems []struct {
		Code, Message, Path, File string
		Line, Column              int
	}
}

// ask returns the value or the failure of an answer.
func ask(t *testing.T, operation string, question object) (any, *failed) {
	t.Helper()
	asked := object{"operation": operation, "id": "wf", "maxBytes": maxBytes}
	for key, value := range question {
		asked[key] = value
	}
	text, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Value   any
		Failure *failed
		Misuse  string
	}
	if err := json.Unmarshal(Reply(text), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Misuse != "" {
		t.Fatal(answer.Misuse)
	}
	return answer.Value, answer.Failure
}

// document has one value of an environment, as it is written in YAML.
func document(value string) string {
	return "x: &anchored 0755\nname: n\ntasks: [{name: t, worker: w, actions: [{name: a, image: i, environment: {VALUE: " + value + "}}]}]"
}

func valueOf(plan any) any {
	task := plan.(object)["tasks"].([]any)[0].(object)
	return task["actions"].([]any)[0].(object)["environment"].(object)["VALUE"]
}

func TestFunctions(t *testing.T) {
	for _, each := range readCases(t, "functions.yaml") {
		call := each["call"].(string)
		t.Run(call, func(t *testing.T) {
			text := document("{{ " + call + " | toString | quote }}")
			plan, failure := ask(t, "render", object{"text": text, "functions": each["functions"]})
			if fails, isFailing := each["fails"].(string); isFailing {
				if failure == nil || !strings.HasSuffix(failure.Message, fails) {
					t.Fatalf("got %v, %+v", plan, failure)
				}
				return
			}
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := valueOf(plan); got != each["gives"] {
				t.Errorf("got %q, want %q", got, each["gives"])
			}
		})
	}
}

// TestHardware compares with what a released renderer makes of the same Hardware.
func TestHardware(t *testing.T) {
	text, err := os.ReadFile("../testdata/hardware.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var released struct {
		Hardware object
		Cases    []struct{ Call, Gives string }
	}
	if err := yaml.Unmarshal(text, &released); err != nil {
		t.Fatal(err)
	}
	for _, each := range released.Cases {
		t.Run(each.Call, func(t *testing.T) {
			text := document("{{ " + each.Call + " | toString | quote }}")
			plan, failure := ask(t, "render", object{"text": text, "hardware": released.Hardware})
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := valueOf(plan); got != each.Gives {
				t.Errorf("got %q, want %q", got, each.Gives)
			}
		})
	}
}

func TestScalars(t *testing.T) {
	for _, each := range readCases(t, "scalars.yaml") {
		t.Run(each["written"].(string), func(t *testing.T) {
			plan, failure := ask(t, "render", object{"text": document(each["written"].(string))})
			if failure != nil {
				t.Fatal(failure.Message)
			}
			if got := valueOf(plan); got != each["read"] {
				t.Errorf("got %q, want %q", got, each["read"])
			}
		})
	}
}

func TestRender(t *testing.T) {
	for _, each := range readCases(t, "render.yaml") {
		t.Run(each["title"].(string), func(t *testing.T) {
			question := object{"text": each["text"], "values": each["values"], "hardware": each["hardware"]}
			plan, failure := ask(t, "render", question)
			judge(t, each, plan, failure)
		})
	}
}

func TestRenderActions(t *testing.T) {
	for _, each := range readCases(t, "actions.yaml") {
		t.Run(each["title"].(string), func(t *testing.T) {
			question := object{"spec": each["spec"], "params": each["params"], "workflow": each["workflow"], "hardware": each["hardware"]}
			plan, failure := ask(t, "renderActions", question)
			judge(t, each, plan, failure)
		})
	}
}

func judge(t *testing.T, each object, plan any, failure *failed) {
	t.Helper()
	if want, isPlanned := each["plan"]; isPlanned {
		if failure != nil {
			t.Fatal(failure.Message)
		}
		if !contains(jsonOf(t, want), plan) {
			t.Errorf("got %v, want %v", plan, want)
		}
		return
	}
	if failure == nil {
		t.Fatalf("got %v", plan)
	}
	judgeFailure(t, each, failure)
}

func judgeFailure(t *testing.T, each object, failure *failed) {
	t.Helper()
	if want, isThere := each["message"].(string); isThere && failure.Message != "error rendering template: "+want {
		t.Errorf("got %q, want %q", failure.Message, want)
	}
	if part, isThere := each["failsWith"].(string); isThere && !strings.Contains(failure.Message, part) {
		t.Errorf("got %q, want %q in it", failure.Message, part)
	}
	first := failure.Problems[0]
	for key, got := range (object{"code": first.Code, "line": first.Line, "column": first.Column, "rendered": failure.Rendered}) {
		if want, isThere := each[key]; isThere && want != got {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
	}
	var messages, paths []any
	for _, problem := range failure.Problems {
		messages, paths = append(messages, problem.Message), append(paths, problem.Path)
	}
	for key, got := range (object{"problems": messages, "paths": paths}) {
		if want, isThere := each[key]; isThere && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
}

func TestCue(t *testing.T) {
	for _, each := range readCases(t, "cue.yaml") {
		t.Run(each["title"].(string), func(t *testing.T) {
			value, failure := ask(t, "cue", object{"text": each["text"], "context": each["context"], "path": each["path"]})
			if want, isValue := each["value"]; isValue {
				if failure != nil || !reflect.DeepEqual(value.(object)["json"], jsonOf(t, want)) {
					t.Fatalf("got %v, %+v", value, failure)
				}
				return
			}
			if failure == nil {
				t.Fatalf("got %v", value)
			}
			judgeFailure(t, each, failure)
		})
	}
}

func TestMisuse(t *testing.T) {
	for _, question := range []string{"", "{}", `{"operation":"nope"}`, `{"operation":"render","text":1}`} {
		if answer := string(Reply([]byte(question))); !strings.HasPrefix(answer, `{"misuse":`) {
			t.Errorf("%s: got %s", question, answer)
		}
	}
}

func jsonText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// jsonOf brings what YAML says into the types of JSON.
func jsonOf(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// contains tells whether all that is wanted is there; members that are not named may be anything.
func contains(want, got any) bool {
	switch want := want.(type) {
	case object:
		members, isObject := got.(object)
		for key, value := range want {
			if !isObject || !contains(value, members[key]) {
				return false
			}
		}
		return isObject
	case []any:
		list, isList := got.([]any)
		if !isList || len(list) != len(want) {
			return false
		}
		for at, value := range want {
			if !contains(value, list[at]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(want, got)
}
