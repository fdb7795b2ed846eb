package workflow

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"slipway/template/rendering"
)

// leaves renders texts inside of data, each on its own, within one limit for all.
type leaves struct {
	request ActionsRequest
	data    map[string]any
	budget  rendering.Budget
	// failure has the problems of all texts; its message is the first one's.
	failure *Failure
}

var actionName = regexp.MustCompile(`^spec\.actions\[\d+\]\.name$`)

// render returns the same data with every text rendered. Keys and names of actions are left as they are.
func (leaves *leaves) render(value any, path string) any {
	switch value := value.(type) {
	case string:
		if actionName.MatchString(path) {
			return value
		}
		return leaves.renderText(value, path)
	case []any:
		list := make([]any, len(value))
		for at, item := range value {
			list[at] = leaves.render(item, fmt.Sprintf("%s[%d]", path, at))
		}
		return list
	case map[string]any:
		// In a fixed order, so that the same template fails the same way every time.
		members := make(map[string]any, len(value))
		for _, key := range slices.Sorted(maps.Keys(value)) {
			members[key] = leaves.render(value[key], path+"."+key)
		}
		return members
	}
	return value
}

func (leaves *leaves) renderText(text, path string) string {
	request := leaves.request
	// Most texts are no templates; reading one takes longer than all else.
	if !strings.Contains(text, "{{") {
		if err := leaves.budget.Spend(len(text)); err != nil {
			leaves.fail(templateFailure(request.ID, "template-execution", text, path, err))
		}
		return text
	}
	rendered, failure := execute(request.ID, text, path, leaves.data, request.Functions, &leaves.budget)
	if failure != nil {
		leaves.fail(failure)
		return ""
	}
	return string(rendered)
}

func (leaves *leaves) fail(failure *Failure) {
	if leaves.failure == nil {
		leaves.failure = failure
		return
	}
	leaves.failure.Problems = append(leaves.failure.Problems, failure.Problems...)
}
