package workflow

import (
	"encoding/json"
	"fmt"

	"slipway/template/functions"
	"slipway/template/rendering"
	"slipway/template/v1alpha1"
)

// Request asks for the plan of shape A.
type Request struct {
	// ID is the workflow's name, which failures tell.
	ID   string `json:"id"`
	Text string `json:"text"`
	// Values are the top-level keys that the user has given.
	Values map[string]any `json:"values"`
	// Hardware is the whole object as stored, or absent.
	Hardware   json.RawMessage   `json:"hardware"`
	References map[string]any    `json:"references"`
	Functions  functions.Options `json:"functions"`
	MaxBytes   int               `json:"maxBytes"`
}

// Plan is a document and what should be said of how it came to be.
type Plan struct {
	Document
	// Overwritten are keys among the user's values that are reserved.
	Overwritten []string  `json:"overwritten"`
	Ignored     []Ignored `json:"ignored"`
}

// Render executes the template over the data, decodes what it wrote, and judges it.
func Render(request Request) (*Plan, *Failure) {
	data, overwritten, err := dataOf(request)
	if err != nil {
		return nil, plainFailure("hardware-invalid", err)
	}
	rendered, failure := execute(request.ID, request.Text, "", data, request.Functions, &rendering.Budget{MaxBytes: request.MaxBytes})
	if failure != nil {
		return nil, failure
	}
	document, ignored, err := decode(rendered)
	if err != nil {
		failure := plainFailure("template-yaml", err)
		failure.Rendered = string(rendered)
		return nil, failure
	}
	if found := problems(document); len(found) > 0 {
		return nil, invalid(found)
	}
	return &Plan{Document: withoutNulls(document), Overwritten: orEmpty(overwritten), Ignored: ignored}, nil
}

// execute tells errors of syntax from those of data, by which a user knows whom to ask.
func execute(id, text, path string, data any, options functions.Options, budget *rendering.Budget) ([]byte, *Failure) {
	parsed, err := rendering.Parse(text, options)
	if err != nil {
		return nil, templateFailure(id, "template-syntax", text, path, err)
	}
	rendered, err := rendering.Execute(parsed, data, budget)
	if err != nil {
		return nil, templateFailure(id, "template-execution", text, path, err)
	}
	return rendered, nil
}

// templateHardwareData is `.Hardware`. Its name is part of messages of text/template.
type templateHardwareData struct {
	Disks      []string
	Interfaces []v1alpha1.Interface
	UserData   string
	Metadata   v1alpha1.HardwareMetadata
	VendorData string
}

// dataOf puts the user's values first, and what is reserved over them.
func dataOf(request Request) (map[string]any, []string, error) {
	plain := map[string]any{}
	var typed v1alpha1.Hardware
	if len(request.Hardware) > 0 && string(request.Hardware) != "null" {
		if err := json.Unmarshal(request.Hardware, &plain); err != nil {
			return nil, nil, fmt.Errorf("reading the hardware: %w", err)
		}
		if err := json.Unmarshal(request.Hardware, &typed); err != nil {
			return nil, nil, fmt.Errorf("reading the hardware: %w", err)
		}
	}
	references := request.References
	if references == nil {
		references = map[string]any{}
	}
	data := map[string]any{}
	for key, value := range request.Values {
		data[key] = value
	}
	var overwritten []string
	reserved := []string{"Hardware", "hardware", "references"}
	for at, value := range []any{hardwareData(typed.Spec), plain, references} {
		if _, isGiven := data[reserved[at]]; isGiven {
			overwritten = append(overwritten, reserved[at])
		}
		data[reserved[at]] = value
	}
	return data, overwritten, nil
}

func hardwareData(spec v1alpha1.HardwareSpec) templateHardwareData {
	data := templateHardwareData{Interfaces: spec.Interfaces, UserData: spec.UserData, VendorData: spec.VendorData}
	for _, disk := range spec.Disks {
		data.Disks = append(data.Disks, disk.Device)
	}
	if spec.Metadata != nil {
		data.Metadata = *spec.Metadata
	}
	return data
}
