// Package rendering turns one template text into one bounded text.
package rendering

import (
	"bytes"
	"fmt"
	"text/template"

	"slipway/template/functions"
)

// Name is what every template is called: messages of text/template begin with it, and people search for them.
const Name = "workflow-template"

// Parse reads the syntax of a template; functions that do not exist are errors of syntax.
func Parse(text string, options functions.Options) (*template.Template, error) {
	return template.New(Name).Option("missingkey=error").Funcs(functions.New(options)).Parse(text)
}

// Render parses and executes. What is written beyond maxBytes is an error, so that a short text cannot fill the memory.
func Render(text string, data any, options functions.Options, maxBytes int) ([]byte, error) {
	parsed, err := Parse(text, options)
	if err != nil {
		return nil, err
	}
	out := &bounded{maxBytes: maxBytes}
	if err := parsed.Execute(out, data); err != nil {
		return nil, err
	}
	return out.written.Bytes(), nil
}

// bounded keeps what is written, up to a limit.
type bounded struct {
	written  bytes.Buffer
	maxBytes int
}

func (out *bounded) Write(piece []byte) (int, error) {
	if out.written.Len()+len(piece) > out.maxBytes {
		return 0, fmt.Errorf("the rendered text is over %d bytes", out.maxBytes)
	}
	return out.written.Write(piece)
}
