package helm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	toml "github.com/pelletier/go-toml/v2"
	"sigs.k8s.io/yaml"
)

const deepest = 500

// plainFunctions are those that need no other template. Environment and network are never visible.
func plainFunctions() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	for name, function := range map[string]any{
		"toYaml":        toYaml,
		"toYamlPretty":  toYaml,
		"toJson":        toJSON,
		"toToml":        toToml,
		"fromYaml":      func(text string) object { return objectFrom(readYaml, text) },
		"fromJson":      func(text string) object { return objectFrom(json.Unmarshal, text) },
		"fromYamlArray": func(text string) []any { return listFrom(readYaml, text) },
		"fromJsonArray": func(text string) []any { return listFrom(json.Unmarshal, text) },
		"lookup":        func(string, string, string, string) object { return object{} },
		"required":      required,
		"fail":          func(message string) (string, error) { return "", errors.New(message) },
	} {
		all[name] = function
	}
	return all
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

func toYaml(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func toToml(value any) string {
	text, err := toml.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Charts look for an error under this key, or as the only item.
func objectFrom(read func([]byte, any) error, text string) object {
	value := object{}
	if err := read([]byte(text), &value); err != nil {
		return object{"Error": err.Error()}
	}
	return value
}

func listFrom(read func([]byte, any) error, text string) []any {
	value := []any{}
	if err := read([]byte(text), &value); err != nil {
		return []any{err.Error()}
	}
	return value
}

func readYaml(text []byte, value any) error { return yaml.Unmarshal(text, value) }

// linked adds the functions that call other templates of the same set.
func linked(set *template.Template, depth *int) template.FuncMap {
	enter := func(name string, run func() (string, error)) (string, error) {
		if *depth >= deepest {
			return "", fmt.Errorf("%s: templates call each other more than %d deep", name, deepest)
		}
		*depth++
		defer func() { *depth-- }()
		return run()
	}
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			return enter(name, func() (string, error) {
				var out limited
				err := set.ExecuteTemplate(&out, name, data)
				return out.String(), err
			})
		},
		"tpl": func(text string, data any) (string, error) {
			return enter("tpl", func() (string, error) { return evaluate(set, text, data, depth) })
		},
	}
}

// evaluate renders a text that may define and call templates of its own.
func evaluate(set *template.Template, text string, data any, depth *int) (string, error) {
	copied, err := set.Clone()
	if err != nil {
		return "", err
	}
	copied.Funcs(linked(copied, depth))
	parsed, err := copied.New("tpl").Parse(text)
	if err != nil {
		return "", fmt.Errorf("tpl: %w", err)
	}
	var out limited
	err = parsed.Execute(&out, data)
	return withoutNoValue(out.String()), err
}

// The library writes this for keys that are missing.
func withoutNoValue(text string) string { return strings.ReplaceAll(text, "<no value>", "") }

const largest = 8 << 20

// limited is a buffer that refuses more than a release may have.
type limited struct{ bytes.Buffer }

func (out *limited) Write(piece []byte) (int, error) {
	if out.Len()+len(piece) > largest {
		return 0, fmt.Errorf("the rendered text is over %d bytes", largest)
	}
	return out.Buffer.Write(piece)
}

// fileSet is .Files.
type fileSet map[string]string

func (files fileSet) Get(name string) string      { return files[name] }
func (files fileSet) GetBytes(name string) []byte { return []byte(files[name]) }

// Glob knows ** as any number of folders.
func (files fileSet) Glob(pattern string) fileSet {
	found := fileSet{}
	for name, content := range files {
		if matches(strings.Split(pattern, "/"), strings.Split(name, "/")) {
			found[name] = content
		}
	}
	return found
}

func matches(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		return matches(pattern[1:], name) || (len(name) > 0 && matches(pattern, name[1:]))
	}
	if len(name) == 0 {
		return false
	}
	isMatch, err := path.Match(pattern[0], name[0])
	return err == nil && isMatch && matches(pattern[1:], name[1:])
}

func (files fileSet) Lines(name string) []string {
	text := strings.TrimSuffix(files[name], "\n")
	if text == "" {
		return []string{}
	}
	return strings.Split(text, "\n")
}

func (files fileSet) AsConfig() string { return files.asData(func(text string) string { return text }) }

func (files fileSet) AsSecrets() string {
	return files.asData(func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) })
}

func (files fileSet) asData(encode func(string) string) string {
	data := map[string]string{}
	for name, content := range files {
		data[path.Base(name)] = encode(content)
	}
	if len(data) == 0 {
		return ""
	}
	return toYaml(data)
}
