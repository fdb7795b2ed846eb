package functions

import (
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// toYaml writes a value as YAML under its JSON names, without the final newline, so that it can be indented and followed by more.
func toYaml(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("toYaml: %w", err)
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

func fromYaml(text string) (any, error) {
	if text == "" {
		return nil, errors.New("fromYaml: empty YAML input")
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("fromYaml: %w", err)
	}
	return value, nil
}
