package cuelang

import (
	"encoding/json"
	"fmt"

	"cuelang.org/go/cue"
)

// PatchRequest asks for the base with the patch at a path of a task's value.
type PatchRequest struct {
	Task
	Path string          `json:"path"`
	Base json.RawMessage `json:"base"`
}

// MergePatch merges as patches of traits are merged; comments of the task's template say how.
func MergePatch(asked PatchRequest) (*Rendered, *Failed) {
	value, failure := shared.taskValue(asked.Task)
	if failure != nil {
		return nil, failure
	}
	path := parsePath(asked.Path)
	patch := value.LookupPath(cue.MakePath(path...))
	if path == nil || !patch.Exists() {
		return nil, failedWith(fmt.Sprintf("there is nothing at %q", asked.Path))
	}
	output, operations, problems := shared.patchedObject(asked.Base, patch)
	if len(problems) > 0 {
		return nil, failed(problems)
	}
	rendered := &Rendered{Objects: Objects{Output: output, Outputs: json.RawMessage("{}")}, Errs: []string{}}
	if operations != nil {
		rendered.Operations = &Operations{Output: operations}
	}
	return rendered, nil
}
