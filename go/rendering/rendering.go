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

// Spend takes so many bytes, or fails when there are not as many left.
func (budget *Budget) Spend(bytes int) error {
	if budget.used+bytes > budget.MaxBytes {
		return fmt.Errorf("the rendered text is over %d bytes", budget.MaxBytes)
	}
	budget.used += bytes
	return nil
}

// empty has a template without text for each choice of functions. To give one its functions takes longer than most texts, and
// copies get them for less. Questions come one at a time.
var empty = map[functions.Options]*template.Template{}

// Parse reads the syntax of a template; functions that do not exist are errors of syntax.
func Parse(text string, options functions.Options) (*template.Template, error) {
	base, isKnown := empty[options]
	if !isKnown {
		base = template.New(Name).Option("missingkey=error").Funcs(functions.New(options))
		empty[options] = base
	}
	copied, err := base.Clone()
	if err != nil {
		return nil, err
	}
	return copied.Parse(text)
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
	if err := out.budget.Spend(len(piece)); err != nil {
		return 0, err
	}
	return out.written.Write(piece)
}
