package workflow

import (
	"slipway/template/functions"
	"slipway/template/rendering"
)

// ParseRequest asks whether a text is a template.
type ParseRequest struct {
	ID        string            `json:"id"`
	Text      string            `json:"text"`
	Functions functions.Options `json:"functions"`
}

// Parsed says that it is.
type Parsed struct{}

// Parse finds errors of syntax; what the template would write is not judged.
func Parse(request ParseRequest) (*Parsed, *Failure) {
	if _, err := rendering.Parse(request.Text, request.Functions); err != nil {
		return nil, templateFailure(request.ID, "template-syntax", request.Text, "", err)
	}
	return &Parsed{}, nil
}
