package cuelang

import (
	"encoding/json"
	"fmt"
	"strings"

	"cuelang.org/go/cue"
)

// Health asks for the texts of a definition's status over live objects.
type Health struct {
	Details      string          `json:"details"`
	HealthPolicy string          `json:"healthPolicy"`
	CustomStatus string          `json:"customStatus"`
	Parameter    json.RawMessage `json:"parameter"`
	Context      json.RawMessage `json:"context"`
	// Packages and Sources are as in Template.
	Packages string            `json:"packages"`
	Sources  map[string]string `json:"sources"`
}

// Healthy is the judgement. IsHealthy is absent without a policy.
type Healthy struct {
	IsHealthy *bool             `json:"isHealthy,omitempty"`
	Message   string            `json:"message,omitempty"`
	Details   map[string]string `json:"details"`
}

// Longer labels are not shown.
const maxDetailLabel = 32

// JudgeHealth evaluates details, then the policy, then the status; each sees what came before. Errors make nothing healthy.
func JudgeHealth(asked Health) (*Healthy, *Failed) {
	judged := &Healthy{Details: map[string]string{}}
	status := map[string]json.RawMessage{}
	if asked.Details != "" {
		if problem := asked.details(judged, status); problem != "" {
			unhealthy := false
			judged.IsHealthy, judged.Message = &unhealthy, problem
			return judged, nil
		}
	}
	if asked.HealthPolicy != "" {
		isHealthy, problem := asked.policy(status)
		judged.IsHealthy, judged.Message = &isHealthy, problem
		status["healthy"], _ = json.Marshal(isHealthy)
	}
	if asked.CustomStatus != "" {
		message, problem := asked.message(status)
		switch {
		case problem == "":
			if judged.Message == "" {
				judged.Message = message
			}
		case judged.IsHealthy == nil || *judged.IsHealthy:
			unhealthy := false
			judged.IsHealthy, judged.Message = &unhealthy, problem
		case judged.Message == "":
			judged.Message = problem
		}
	}
	return judged, nil
}

func (h Health) details(judged *Healthy, status map[string]json.RawMessage) string {
	value, failure := h.evaluate("details", h.Details, status)
	if failure != nil {
		return failure.Message()
	}
	fields, err := value.Fields()
	if err != nil {
		return failed(problemsOf(err, codeIncomplete)).Message()
	}
	usable := newObject()
	for fields.Next() {
		name := fields.Selector().Unquoted()
		if isData(name) || name == "parameters" {
			continue
		}
		text, err := jsonOf(fields.Value())
		if err != nil {
			continue
		}
		usable.add(name, text)
		if isShown(name, fields.Value()) {
			judged.Details[name] = detailText(fields.Value(), text)
		}
	}
	status["details"] = usable.end()
	return ""
}

func isShown(name string, value cue.Value) bool {
	if strings.HasPrefix(name, "$") || len(name) >= maxDetailLabel {
		return false
	}
	local, private := value.Attribute("local"), value.Attribute("private")
	return local.Err() != nil && private.Err() != nil
}

func detailText(value cue.Value, text json.RawMessage) string {
	if words, err := value.String(); err == nil {
		return words
	}
	return string(text)
}

func (h Health) policy(status map[string]json.RawMessage) (bool, string) {
	value, failure := h.evaluate("healthPolicy", h.HealthPolicy, status)
	if failure != nil {
		return false, failure.Message()
	}
	answer := value.LookupPath(cue.ParsePath("isHealth"))
	answer, _ = answer.Default()
	isHealthy, err := answer.Bool()
	if err == nil {
		return isHealthy, ""
	}
	if kind := answer.IncompleteKind(); kind != cue.BottomKind && kind != cue.BoolKind {
		return false, fmt.Sprintf("healthPolicy: isHealth is %s, expected bool", kind)
	}
	return false, failed(problemsOf(err, codeIncomplete)).Message()
}

func (h Health) message(status map[string]json.RawMessage) (string, string) {
	value, failure := h.evaluate("customStatus", h.CustomStatus, status)
	if failure != nil {
		return "", failure.Message()
	}
	answer := value.LookupPath(cue.ParsePath("message"))
	answer, _ = answer.Default()
	message, err := answer.String()
	if err != nil {
		return "", failed(problemsOf(err, codeIncomplete)).Message()
	}
	return message, ""
}

// evaluate adds what is known to `context.status`.
func (h Health) evaluate(name, text string, status map[string]json.RawMessage) (cue.Value, *Failed) {
	context := map[string]json.RawMessage{}
	if len(h.Context) > 0 {
		if err := json.Unmarshal(h.Context, &context); err != nil {
			return cue.Value{}, failedWith(err.Error())
		}
	}
	known := map[string]json.RawMessage{}
	if given, isGiven := context["status"]; isGiven {
		_ = json.Unmarshal(given, &known)
	}
	for key, value := range status {
		known[key] = value
	}
	if len(known) > 0 {
		context["status"], _ = json.Marshal(known)
	}
	all, err := json.Marshal(context)
	if err != nil {
		return cue.Value{}, failedWith(err.Error())
	}
	given := Template{Text: text, File: name, Parameter: h.Parameter, Context: all, Packages: h.Packages, Sources: h.Sources}
	_, value, failure := shared.compiled(given)
	return value, failure
}
