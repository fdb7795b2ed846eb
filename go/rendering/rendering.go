// Package rendering turns template texts into bounded texts.
package rendering

import (
	"bytes"
	"fmt"
	"text/template"

	"slipway/template/functions"
)

// Name is what every template is called: messages of text/template begin with it, and people search for them.
const Name = "workflow-template"

// Budget is what all texts of one question may write together, so that a short template cannot fill the memory.
type Budget struct {
	MaxBytes int
	used     int
}

// Parse reads the syntax of a template; functions that do not exist are errors of syntax.
func Parse(text string, options functions.Options) (*template.Template, error) {
	return template.New(Name).Option("missingkey=error").Funcs(functions.New(options)).Parse(text)
}

// Execute renders over the data. What is written beyond the budget is an error.
func Execute(parsed *template.Template, data any, budget *Budget) ([]byte, error) {
	out := &bounded{budget: budget}
	if err := parsed.Execute(out, data); err != nil {
		return nil, err
	}
	return out.written.Bytes(), nil
}

// bounded keeps what is written, as long as the budget lasts.
type bounded struct {
	written bytes.Buffer
	budget  *Budget
}

func (out *bounded) Write(piece []byte) (int, error) {
	if out.budget.used+len(piece) > out.budget.MaxBytes {
		return 0, fmt.Errorf("the rendered text is over %d bytes", out.budget.MaxBytes)
	}
	out.budget.used += len(piece)
	return out.written.Write(piece)
}
