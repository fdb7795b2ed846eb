package rebar

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"text/template"

	"slipway/template/lru"
	"slipway/template/rendering"
)

// Request is one rendering. Large parts that stay the same are named by their hash; those of earlier questions are known.
type Request struct {
	Set     string `json:"set"`
	Actions []int  `json:"actions"`
	// Only is a path: actions with another one are left out, and cannot fail.
	Only          string                     `json:"only"`
	IsRooted      bool                       `json:"isRooted"`
	Task          string                     `json:"task"`
	Stage         string                     `json:"stage"`
	Env           string                     `json:"env"`
	Machine       *machineRecord             `json:"machine"`
	MachineParams map[string]any             `json:"machineParams"`
	Mac           string                     `json:"mac"`
	Params        map[string]*Value          `json:"params"`
	Composed      map[string]*Value          `json:"composed"`
	Tokens        map[string]string          `json:"tokens"`
	Absent        []string                   `json:"absent"`
	Info          *Info                      `json:"info"`
	LocalRepo     *Repo                      `json:"localRepo"`
	Place         Place                      `json:"place"`
	Parts         map[string]json.RawMessage `json:"parts"`
	MaxBytes      int                        `json:"maxBytes"`

	budget rendering.Budget
}

// Place is where machines reach the server.
type Place struct {
	ProvisionerURL string `json:"provisionerUrl"`
	ApiURL         string `json:"apiUrl"`
}

// Value is of a param. Exactly one member counts: an error, the hash of a part, or the value, which may be null.
type Value struct {
	Error string `json:"error"`
	Part  string `json:"part"`
	Plain any    `json:"plain"`
}

// Rendered has either needs, or what was rendered and messages of what could not be.
type Rendered struct {
	Needs    *Needs   `json:"needs,omitempty"`
	Actions  []Action `json:"actions"`
	Messages []string `json:"messages"`
}

// Action is what became of the action at this place of the set.
type Action struct {
	At      int    `json:"at"`
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Needs are what the next question has to have.
type Needs struct {
	Parts         []string `json:"parts,omitempty"`
	Params        []string `json:"params,omitempty"`
	Composed      []string `json:"composed,omitempty"`
	Tokens        []string `json:"tokens,omitempty"`
	Templates     []string `json:"templates,omitempty"`
	MachineParams bool     `json:"machineParams,omitempty"`
	Info          bool     `json:"info,omitempty"`
}

func (n *Needs) isEmpty() bool {
	lists := len(n.Parts) + len(n.Params) + len(n.Composed) + len(n.Tokens) + len(n.Templates)
	return lists == 0 && !n.MachineParams && !n.Info
}

// Parts of earlier questions, by hash; their cost is the size of their texts.
var (
	sets    = lru.New[*set](12 << 20)
	objects = lru.New[any](2 << 20)
	values  = lru.New[any](6 << 20)
)

var errNoPart = errors.New("a part was not sent")

// part returns what is known by a hash, or is made from what the question has sent.
func part[V any](request *Request, known *lru.Cache[V], hash string, read func(json.RawMessage) (V, error)) (V, error) {
	if found, isKnown := known.Get(hash); isKnown {
		return found, nil
	}
	var none V
	text, isSent := request.Parts[hash]
	if !isSent {
		return none, errNoPart
	}
	made, err := read(text)
	if err != nil {
		return none, err
	}
	known.Put(hash, made, len(text))
	return made, nil
}

func (request *Request) valuePart(hash string) (any, error) {
	return part(request, values, hash, func(text json.RawMessage) (value any, err error) {
		return value, json.Unmarshal(text, &value)
	})
}

func objectPart[T any](request *Request, hash string) (*T, error) {
	found, err := part(request, objects, hash, func(text json.RawMessage) (any, error) {
		object := new(T)
		return object, json.Unmarshal(text, object)
	})
	if err != nil {
		return nil, err
	}
	object, isOfType := found.(*T)
	if !isOfType {
		return nil, fmt.Errorf("part %s is of another kind", hash)
	}
	return object, nil
}

func (request *Request) isAbsent(name string) bool { return slices.Contains(request.Absent, name) }

// missingParts are those that are neither known nor sent.
func (request *Request) missingParts() []string {
	var missing []string
	for _, hash := range request.parts() {
		_, isSent := request.Parts[hash]
		if !isSent && !isKnown(hash) {
			missing = append(missing, hash)
		}
	}
	return missing
}

func isKnown(hash string) bool {
	_, isSet := sets.Get(hash)
	_, isObject := objects.Get(hash)
	_, isValue := values.Get(hash)
	return isSet || isObject || isValue
}

// parts are all hashes that the question refers to.
func (request *Request) parts() []string {
	hashes := []string{request.Set, request.Task, request.Stage, request.Env}
	for _, sent := range []map[string]*Value{request.Params, request.Composed} {
		for _, value := range sent {
			if value != nil {
				hashes = append(hashes, value.Part)
			}
		}
	}
	return slices.DeleteFunc(hashes, func(hash string) bool { return hash == "" })
}

// Render renders actions of a set. Errors of templates are messages.
func Render(request Request) (*Rendered, error) {
	if missing := request.missingParts(); missing != nil {
		return &Rendered{Needs: &Needs{Parts: missing}}, nil
	}
	data, err := newData(&request)
	if errors.Is(err, errNoPart) {
		// One part has pushed another out.
		return &Rendered{Needs: &Needs{Parts: request.parts()}}, nil
	}
	if err != nil {
		return nil, err
	}
	if data.set.problems != nil {
		return &Rendered{Messages: data.set.problems}, nil
	}
	for _, name := range data.set.called {
		if !request.isAbsent(name) {
			data.needs.Templates = append(data.needs.Templates, name)
		}
	}
	if !data.needs.isEmpty() {
		return &Rendered{Needs: &data.needs}, nil
	}
	request.budget.MaxBytes = request.MaxBytes
	rendered := &Rendered{Actions: []Action{}, Messages: []string{}}
	for _, at := range request.Actions {
		if at < 0 || at >= len(data.set.actions) {
			return nil, fmt.Errorf("there is no action %d", at)
		}
		action, err := data.render(at)
		switch {
		case errors.Is(err, errOther):
		case err != nil:
			rendered.Messages = append(rendered.Messages, err.Error())
		default:
			rendered.Actions = append(rendered.Actions, action)
		}
	}
	if !data.needs.isEmpty() {
		return &Rendered{Needs: &data.needs}, nil
	}
	return rendered, nil
}

func newData(request *Request) (data *RenderData, err error) {
	data = &RenderData{request: request}
	if data.set, err = part(request, sets, request.Set, newSet); err != nil {
		return nil, err
	}
	if request.Machine != nil {
		record := *request.Machine
		record.Params = request.MachineParams
		data.Machine = &Machine{machineRecord: &record, data: data}
	}
	if request.Task != "" {
		if data.Task, err = objectPart[Task](request, request.Task); err != nil {
			return nil, err
		}
	}
	if request.Stage != "" {
		known, err := objectPart[Stage](request, request.Stage)
		if err != nil {
			return nil, err
		}
		stage := *known
		stage.Params, _ = copied(known.Params).(map[string]any)
		data.Stage = &stage
	}
	if request.Env != "" {
		record, err := objectPart[bootEnvRecord](request, request.Env)
		if err != nil {
			return nil, err
		}
		data.Env = &Env{bootEnvRecord: record, data: data}
	}
	return data, nil
}

func (r *RenderData) render(at int) (action Action, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("template %s: %v", r.set.actions[at].Shown, thrown)
		}
	}()
	text := r.set.actions[at]
	action.At = at
	if action.Path, err = r.pathOf(at); err != nil {
		return action, err
	}
	r.path = action.Path
	found := r.set.root.Lookup(text.Name)
	if found == nil {
		if !r.request.isAbsent(text.Name) {
			r.needs.Templates = append(r.needs.Templates, text.Name)
			return action, errNeeded
		}
		return action, fmt.Errorf("Missing template: %s", text.Name)
	}
	action.Content, err = r.execute(found, r)
	return action, err
}

// errOther is for actions that the request leaves out.
var errOther = errors.New("this action has another path")

func (r *RenderData) pathOf(at int) (string, error) {
	only := r.request.Only
	if r.set.paths[at] == nil {
		if only != "" {
			return "", errOther
		}
		return "", nil
	}
	r.path = ""
	rendered, err := r.execute(r.set.paths[at], r)
	switch rendered = cleaned(rendered, r.request.IsRooted); {
	case only != "" && rendered != only:
		return "", errOther
	case err != nil:
		text := r.set.actions[at]
		return "", fmt.Errorf("Error rendering template %s path %s: %w", text.Shown, text.Path, err)
	}
	return rendered, nil
}

// cleaned makes a path of what was rendered; nothing stays nothing.
func cleaned(rendered string, isRooted bool) string {
	switch {
	case rendered == "":
		return ""
	case isRooted:
		return path.Clean("/" + rendered)
	}
	return path.Clean(rendered)
}

func (r *RenderData) execute(parsed *template.Template, data any) (string, error) {
	text, err := rendering.Execute(parsed, data, &r.request.budget)
	return string(text), err
}
