package workflow

import (
	"fmt"

	"github.com/distribution/reference"
)

// problems lists everything wrong with a document, in the order of Tinkerbell's own checks: the first is what is shown where
// there is room for one.
func problems(document Document) []string {
	var found []string
	found = append(found, nameProblems(document.Name)...)
	if document.GlobalTimeout < 0 {
		found = append(found, fmt.Sprintf("global_timeout must not be negative: %d", document.GlobalTimeout))
	}
	if len(document.Tasks) == 0 {
		return append(found, "template must have at least one task defined")
	}
	seen := map[string]bool{}
	actions := 0
	for _, task := range document.Tasks {
		found = append(found, nameProblems(task.Name)...)
		if seen[task.Name] {
			found = append(found, fmt.Sprintf("two tasks in a template cannot have same name (%s)", task.Name))
		}
		seen[task.Name] = true
		found = append(found, actionsProblems(task.Actions)...)
		actions += len(task.Actions)
	}
	for _, task := range document.Tasks {
		if task.Worker == "" {
			found = append(found, fmt.Sprintf("task %q: worker is empty", task.Name))
		}
	}
	if actions == 0 {
		found = append(found, "template has no actions")
	}
	return found
}

func actionsProblems(actions []Action) []string {
	var found []string
	seen := map[string]bool{}
	for _, action := range actions {
		found = append(found, nameProblems(action.Name)...)
		found = append(found, imageProblems(action.Image)...)
		if seen[action.Name] {
			found = append(found, fmt.Sprintf("two actions in a task cannot have same name: %s", action.Name))
		}
		seen[action.Name] = true
		if action.Timeout < 0 {
			found = append(found, fmt.Sprintf("action %q: timeout must not be negative: %d", action.Name, action.Timeout))
		}
	}
	return found
}

func nameProblems(name string) []string {
	if 0 < len(name) && len(name) < 200 {
		return nil
	}
	return []string{"name cannot be empty or have more than 200 characters: " + name}
}

// imageProblems judges what the engine that pulls will: names get their registry and tag first.
func imageProblems(image string) []string {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return []string{fmt.Sprintf("invalid action image (%s): %v", image, err)}
	}
	return nil
}
