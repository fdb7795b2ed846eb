package helm

import (
	"fmt"
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// schemaProblems checks the values of one chart. References to other addresses are not followed.
func (made *chart) schemaProblems(values object) []Problem {
	if made.schema == "" {
		return nil
	}
	file := made.name + "/values.schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.LoadURL = func(address string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s: schemas of other addresses are not loaded", address)
	}
	if err := compiler.AddResource("values.schema.json", strings.NewReader(made.schema)); err != nil {
		return []Problem{{Message: fmt.Sprintf("%s: %v", file, err), Path: file}}
	}
	compiled, err := compiler.Compile("values.schema.json")
	if err != nil {
		return []Problem{{Message: fmt.Sprintf("%s: %v", file, err), Path: file}}
	}
	failure, isFailure := compiled.Validate(map[string]any(values)).(*jsonschema.ValidationError)
	if !isFailure {
		return nil
	}
	return leaves(made.name, failure)
}

func leaves(name string, failure *jsonschema.ValidationError) []Problem {
	if len(failure.Causes) == 0 {
		place := strings.ReplaceAll(strings.TrimPrefix(failure.InstanceLocation, "/"), "/", ".")
		message := fmt.Sprintf("chart %s: values.%s: %s", name, place, failure.Message)
		return []Problem{{Message: strings.ReplaceAll(message, "values.: ", "values: "), Path: "values"}}
	}
	var found []Problem
	for _, cause := range failure.Causes {
		found = append(found, leaves(name, cause)...)
	}
	return found
}
