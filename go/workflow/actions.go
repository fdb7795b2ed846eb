package workflow

import (
	"encoding/json"
	"fmt"
	"regexp"

	"slipway/template/functions"
	"slipway/template/rendering"
	"slipway/template/v1alpha2"
)

// ActionsRequest asks for the plan of shape B, whose template is data with templates in its texts.
type ActionsRequest struct {
	ID string `json:"id"`
	// Spec is that of the Template.
	Spec      json.RawMessage   `json:"spec"`
	Hardware  json.RawMessage   `json:"hardware"`
	Params    map[string]string `json:"params"`
	Workflow  workflowData      `json:"workflow"`
	Functions functions.Options `json:"functions"`
	// MaxBytes is for all texts together.
	MaxBytes int `json:"maxBytes"`
}

// workflowData is `.Workflow`.
type workflowData struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// ActionsPlan is the spec with its texts rendered.
type ActionsPlan struct {
	Actions []ContainerAction `json:"actions"`
	Env     map[string]string `json:"env"`
	Volumes []string          `json:"volumes"`
}

// ContainerAction is one container of shape B.
type ContainerAction struct {
	Name       string              `json:"name"`
	Image      string              `json:"image"`
	Cmd        string              `json:"cmd"`
	Args       []string            `json:"args"`
	Env        map[string]string   `json:"env"`
	Volumes    []string            `json:"volumes"`
	Namespaces ContainerNamespaces `json:"namespaces"`
}

// ContainerNamespaces are those that the container shares; a process is told by number or by word.
type ContainerNamespaces struct {
	Network string `json:"network"`
	Pid     any    `json:"pid"`
}

// RenderActions renders every text of the spec but the names of actions.
func RenderActions(request ActionsRequest) (*ActionsPlan, *Failure) {
	var hardware v1alpha2.Hardware
	if len(request.Hardware) > 0 {
		if err := json.Unmarshal(request.Hardware, &hardware); err != nil {
			return nil, plainFailure("hardware-invalid", fmt.Errorf("reading the hardware: %w", err))
		}
	}
	var spec map[string]any
	if err := json.Unmarshal(request.Spec, &spec); err != nil {
		return nil, plainFailure("template-invalid", fmt.Errorf("reading the template: %w", err))
	}
	leaves := leaves{
		request: request,
		data:    actionsData(request, hardware.Spec),
		budget:  rendering.Budget{MaxBytes: request.MaxBytes},
	}
	rendered := map[string]any{}
	for _, key := range []string{"actions", "env", "volumes"} {
		if value, isThere := spec[key]; isThere {
			rendered[key] = leaves.render(value, "spec."+key)
		}
	}
	if leaves.failure != nil {
		return nil, leaves.failure
	}
	plan, err := planOf(rendered)
	if err != nil {
		return nil, plainFailure("template-invalid", err)
	}
	if found := planProblems(plan); len(found) > 0 {
		return nil, invalid(found)
	}
	return &plan, nil
}

func actionsData(request ActionsRequest, hardware v1alpha2.HardwareSpec) map[string]any {
	params := orEmptyMap(request.Params)
	return map[string]any{"Hardware": hardware, "Params": params, "Param": params, "Workflow": request.Workflow}
}

// planOf gives the rendered data its type.
func planOf(rendered map[string]any) (ActionsPlan, error) {
	var plan ActionsPlan
	text, err := json.Marshal(rendered)
	if err == nil {
		err = json.Unmarshal(text, &plan)
	}
	if err != nil {
		return ActionsPlan{}, fmt.Errorf("reading the rendered template: %w", err)
	}
	plan.Actions, plan.Env, plan.Volumes = orEmpty(plan.Actions), orEmptyMap(plan.Env), orEmpty(plan.Volumes)
	for at := range plan.Actions {
		action := &plan.Actions[at]
		action.Args, action.Env, action.Volumes = orEmpty(action.Args), orEmptyMap(action.Env), orEmpty(action.Volumes)
		if action.Namespaces.Pid == nil {
			action.Namespaces.Pid = ""
		}
	}
	return plan, nil
}

var commandPath = regexp.MustCompile(`^(/[^/ ]*)+/?$`)

func planProblems(plan ActionsPlan) []string {
	if len(plan.Actions) == 0 {
		return []string{"template has no actions"}
	}
	var found []string
	seen := map[string]bool{}
	for _, action := range plan.Actions {
		found = append(found, nameProblems(action.Name)...)
		found = append(found, imageProblems(action.Image)...)
		if seen[action.Name] {
			found = append(found, fmt.Sprintf("two actions in a task cannot have same name: %s", action.Name))
		}
		seen[action.Name] = true
		if action.Cmd != "" && !commandPath.MatchString(action.Cmd) {
			found = append(found, fmt.Sprintf("action %q: cmd must be an absolute path: %s", action.Name, action.Cmd))
		}
	}
	return found
}
