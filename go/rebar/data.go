package rebar

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"slipway/template/functions"
)

// RenderData is what templates see as their dot.
type RenderData struct {
	Machine *Machine
	Env     *Env
	Task    *Task
	Stage   *Stage

	request *Request
	set     *set
	needs   Needs
	// path is the destination of the template that is being rendered.
	path  string
	depth int
}

// errNeeded ends a rendering that will be asked for again with more data.
var errNeeded = errors.New("more data is needed")

// Templates that call each other by functions have a limit of their own: each call counts {{template}} from zero again.
const deepest = 100

// value finds a param among those that were sent; what was not sent is asked for.
func (r *RenderData) value(sent map[string]*Value, needed *[]string, key string) (any, bool, error) {
	found, isSent := sent[key]
	switch {
	case !isSent:
		*needed = append(*needed, key)
		return nil, false, errNeeded
	case found == nil:
		return nil, false, nil
	case found.Error != "":
		return nil, false, errors.New(found.Error)
	}
	value := found.Plain
	if found.Part != "" {
		part, err := r.request.valuePart(found.Part)
		if errors.Is(err, errNoPart) {
			r.needs.Parts = append(r.needs.Parts, found.Part)
		}
		if err != nil {
			return nil, false, err
		}
		value = part
	}
	// Functions of templates change maps, which later calls must not see.
	return copied(value), true, nil
}

func copied(value any) any {
	switch value := value.(type) {
	case map[string]any:
		members := make(map[string]any, len(value))
		for key, member := range value {
			members[key] = copied(member)
		}
		return members
	case []any:
		items := make([]any, len(value))
		for at, item := range value {
			items[at] = copied(item)
		}
		return items
	}
	return value
}

func (r *RenderData) lookUp(key string) (any, bool, error) {
	return r.value(r.request.Params, &r.needs.Params, key)
}

func missing(key string) error { return fmt.Errorf("No such machine parameter %s", key) }

func (r *RenderData) Param(key string) (any, error) {
	value, isThere, err := r.lookUp(key)
	if err == nil && !isThere {
		err = missing(key)
	}
	return value, err
}

func (r *RenderData) ParamExists(key string) (bool, error) {
	_, isThere, err := r.lookUp(key)
	return isThere, err
}

// ParamExpand renders the strings of the value.
func (r *RenderData) ParamExpand(key string) (any, error) {
	value, err := r.Param(key)
	if err != nil {
		return nil, err
	}
	return r.ObjectExpand(value)
}

// ParamAsJSON ends with a new line, as its users expect.
func (r *RenderData) ParamAsJSON(key string) (string, error) {
	value, err := r.Param(key)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	return string(text) + "\n", err
}

func (r *RenderData) ParamAsYAML(key string) (string, error) {
	value, err := r.Param(key)
	if err != nil {
		return "", err
	}
	text, err := yaml.Marshal(value)
	return string(text), err
}

// ComposeParam merges the values of all sources.
func (r *RenderData) ComposeParam(key string) (any, error) {
	value, isThere, err := r.value(r.request.Composed, &r.needs.Composed, key)
	if err == nil && !isThere {
		err = missing(key)
	}
	return value, err
}

func (r *RenderData) ParamCompose(key string) (any, error) { return r.ComposeParam(key) }

func (r *RenderData) ParamComposeExpand(key string) (any, error) {
	value, err := r.ComposeParam(key)
	if err != nil {
		return nil, err
	}
	return r.ObjectExpand(value)
}

func (r *RenderData) ComposeParamExpand(key string) (any, error) { return r.ParamComposeExpand(key) }

func (r *RenderData) StringExpand(text string) (string, error) { return r.expand("StringExpand", text) }

// ObjectExpand renders all strings of a value.
func (r *RenderData) ObjectExpand(value any) (any, error) {
	switch value := value.(type) {
	case string:
		return r.expand("ObjectExpand", value)
	case map[string]any:
		members := make(map[string]any, len(value))
		for key, member := range value {
			expanded, err := r.ObjectExpand(member)
			if err != nil {
				return nil, err
			}
			members[key] = expanded
		}
		return members, nil
	case []any:
		items := make([]any, len(value))
		for at, item := range value {
			expanded, err := r.ObjectExpand(item)
			if err != nil {
				return nil, err
			}
			items[at] = expanded
		}
		return items, nil
	}
	return value, nil
}

// expand renders a text that comes from data.
func (r *RenderData) expand(name, text string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	parsed, err := r.set.parseLate(name, text)
	if err != nil {
		return "", err
	}
	return r.nested(func() (string, error) { return r.execute(parsed, r) })
}

// CallTemplate is the action template with a name that is computed.
func (r *RenderData) CallTemplate(name string, data any) (string, error) {
	found := r.set.root.Lookup(name)
	if found == nil {
		if !r.request.isAbsent(name) {
			r.needs.Templates = append(r.needs.Templates, name)
			return "", errNeeded
		}
		return "", fmt.Errorf("Missing template: %s", name)
	}
	return r.nested(func() (string, error) { return r.execute(found, data) })
}

func (r *RenderData) nested(run func() (string, error)) (string, error) {
	if r.depth >= deepest {
		return "", fmt.Errorf("templates call each other more than %d deep", deepest)
	}
	r.depth++
	defer func() { r.depth-- }()
	return run()
}

func (r *RenderData) BootParams() (string, error) {
	if r.Env == nil {
		return "", errors.New("Missing bootenv")
	}
	return r.Env.BootParams()
}

func (r *RenderData) BootParamsFor(arch string) (string, error) {
	if r.Env == nil {
		return "", errors.New("Missing bootenv")
	}
	return r.Env.BootParamsFor(arch)
}

func (r *RenderData) ProvisionerURL() string     { return r.request.Place.ProvisionerURL }
func (r *RenderData) ProvisionerHostURL() string { return r.request.Place.ProvisionerURL }
func (r *RenderData) ApiURL() string             { return r.request.Place.ApiURL }
func (r *RenderData) ApiHostURL() string         { return r.request.Place.ApiURL }

// SecureProvisionerURL would be that of a listener which this server does not have.
func (r *RenderData) SecureProvisionerURL() (string, error) {
	return "", errors.New("this server serves no files over HTTPS")
}

func (r *RenderData) ProvisionerAddress() string {
	parsed, err := url.Parse(r.ProvisionerURL())
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

func (r *RenderData) Info() (*Info, error) {
	if r.request.Info == nil {
		r.needs.Info = true
		return nil, errNeeded
	}
	return r.request.Info, nil
}

// token is made by the server, which is asked for it by this name.
func (r *RenderData) token(name string) (string, error) {
	if token, isSent := r.request.Tokens[name]; isSent {
		return token, nil
	}
	r.needs.Tokens = append(r.needs.Tokens, name)
	return "", errNeeded
}

func (r *RenderData) GenerateToken() (string, error) { return r.token("known") }

func (r *RenderData) GenerateInfiniteToken() (string, error) {
	if r.Machine == nil {
		return "", nil
	}
	return r.token("infinite")
}

// GenerateProfileToken gives machines access to their own profiles only. Clients know the texts that are no tokens.
func (r *RenderData) GenerateProfileToken(profile string, seconds int) (string, error) {
	if r.Machine == nil {
		return "UnknownMachineTokenNotAllowed", nil
	}
	if !r.Machine.HasProfile(profile) {
		return "InvalidTokenNotAllowedNotOnMachine", nil
	}
	return r.token("profile:" + strconv.Itoa(seconds) + ":" + profile)
}

func parseURL(text string) (*url.URL, error) { return url.Parse(text) }

func (r *RenderData) ParseUrl(part, text string) (string, error) {
	parsed, err := parseURL(text)
	if err != nil {
		return "", err
	}
	switch part {
	case "scheme":
		return parsed.Scheme, nil
	case "host":
		return parsed.Host, nil
	case "path":
		return parsed.Path, nil
	}
	return "", fmt.Errorf("No idea how to get URL part %s from %s", part, text)
}

func (r *RenderData) NetmaskToCIDR(mask string) (int, error) {
	return functions.NetmaskToPrefixLength(mask)
}
