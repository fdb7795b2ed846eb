package workflow

import (
	"fmt"
	"strings"

	"slipway/template/rendering"
)

// Failure says why there is no plan. Message is what the resource's condition shows.
type Failure struct {
	Message  string    `json:"message"`
	Problems []Problem `json:"problems"`
	// Rendered is the text that could not be decoded, for the log.
	Rendered string `json:"rendered,omitempty"`
}

// Problem is one thing that is wrong. Code is stable; Path names a part of the document where a place in a text does not.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	// File is absent where there is one text only.
	File string `json:"file,omitempty"`
	rendering.Place
}

const prefix = "error rendering template: "

// templateFailure is an error of text/template, in its own words. A path names the field that holds the template, where
// there is more than one.
func templateFailure(id, code, text, path string, err error) *Failure {
	message := fmt.Sprintf("%sfailed to parse template with ID %s: err: %v", prefix, id, err)
	if path != "" {
		message += fmt.Sprintf(" (%s)", path)
	}
	problem := Problem{Code: code, Message: short(err.Error()), Path: path, Place: rendering.PlaceOf(err, text)}
	return &Failure{Message: short(message), Problems: []Problem{problem}}
}

// plainFailure is an error of one message, which stands behind the prefix.
func plainFailure(code string, err error) *Failure {
	message := short(err.Error())
	return &Failure{Message: prefix + message, Problems: []Problem{{Code: code, Message: message}}}
}

// invalid tells of all problems; the condition shows the first.
func invalid(found []string) *Failure {
	failure := Failure{Message: prefix + "validating workflow template: " + short(found[0])}
	for _, message := range found {
		failure.Problems = append(failure.Problems, Problem{Code: "template-invalid", Message: short(message)})
	}
	return &failure
}

// Messages quote what was found, which may be all of a rendered text, and conditions are stored.
const maxMessage = 4096

func short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
