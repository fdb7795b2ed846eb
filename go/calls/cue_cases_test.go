package calls

import (
	"reflect"
	"strings"
	"testing"
)

// TestCueTasks asks each question twice, because the second answer comes from what the first has left.
func TestCueTasks(t *testing.T) {
	for _, each := range readCases(t, "cue-tasks.yaml") {
		t.Run(each["title"].(string), func(t *testing.T) {
			operation, question := each["operation"].(string), each["ask"].(object)
			if each["walk"] == true {
				if got := walked(t, question); !reflect.DeepEqual(got, each["paths"]) {
					t.Errorf("got %v", got)
				}
				return
			}
			for range 2 {
				value, failure := ask(t, operation, question)
				judgeCue(t, each, value, failure)
			}
		})
	}
}

func judgeCue(t *testing.T, each object, value any, failure *failed) {
	t.Helper()
	if want, isValue := each["value"]; isValue {
		if failure != nil {
			t.Fatal(failure.Message)
		}
		if !contains(jsonOf(t, want), value) {
			t.Errorf("got %s", jsonText(t, value))
		}
		if path, isTold := each["absent"].([]any); isTold && isThere(value, path) {
			t.Errorf("%v is in %s", path, jsonText(t, value))
		}
		return
	}
	if failure == nil {
		t.Fatalf("got %s", jsonText(t, value))
	}
	if part, isTold := each["failsWith"].(string); isTold && !strings.Contains(failure.Message, part) {
		t.Errorf("got %q", failure.Message)
	}
	if want, isTold := each["problems"]; isTold && !contains(jsonOf(t, want), jsonOf(t, lowered(failure))) {
		t.Errorf("got %+v", failure.Problems)
	}
}

// lowered has the names of JSON.
func lowered(failure *failed) []object {
	problems := []object{}
	for _, each := range failure.Problems {
		problems = append(problems, object{"code": each.Code, "message": each.Message, "path": each.Path, "file": each.File, "line": each.Line, "column": each.Column})
	}
	return problems
}

// walked executes all actions without results.
func walked(t *testing.T, question object) any {
	t.Helper()
	paths, done := []any{}, []any{}
	for len(paths) < 100 {
		next := object{"done": done}
		for key, value := range question {
			next[key] = value
		}
		value, failure := ask(t, "cueNext", next)
		if failure != nil {
			t.Fatal(failure.Message)
		}
		action, isAction := value.(object)["action"].(object)
		if !isAction {
			break
		}
		paths = append(paths, action["path"])
		done = append(done, object{"path": action["path"], "result": object{"done": true}})
	}
	return paths
}

func isThere(value any, path []any) bool {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			member, isMember := value.(object)[step]
			if !isMember {
				return false
			}
			value = member
		case int:
			value = value.([]any)[step]
		}
	}
	return true
}

func TestCuePackagesAreAskedForOnce(t *testing.T) {
	question := `{"operation":"cueNext","text":"import \"own/p\"\na: p.#A","packages":"once","done":[]`
	if answer := string(Reply([]byte(question + "}"))); answer != `{"unknownPackages":true}` {
		t.Fatal(answer)
	}
	sources := `,"sources":{"own/p":"package p\n#A: {#do: \"x\"}"}}`
	for _, tail := range []string{sources, "}"} {
		if answer := string(Reply([]byte(question + tail))); !strings.Contains(answer, `"path":"a"`) {
			t.Fatal(answer)
		}
	}
}

func TestCueNumbersAreExact(t *testing.T) {
	question := `{"operation":"cueRender","text":"parameter: {...}\noutput: {a: parameter.n, b: 98765432109876543210}","parameter":{"n":9007199254740993}}`
	if answer := string(Reply([]byte(question))); !strings.Contains(answer, `"a":9007199254740993,"b":98765432109876543210`) {
		t.Fatal(answer)
	}
}

func TestCueContextIsReplaced(t *testing.T) {
	for at := range 600 {
		question := object{"text": "a: " + strings.Repeat(" ", at) + "1\noutput: b: a"}
		value, failure := ask(t, "cueRender", question)
		if failure != nil || !contains(object{"output": object{"b": 1.0}}, value) {
			t.Fatalf("%d: %v", at, failure)
		}
	}
}
