package workflow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Ignored is a key of the document that means nothing.
type Ignored struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// ignoredKeys lists the keys that nothing reads, in the order of the text: unknown ones, and those of former releases.
func ignoredKeys(root *yaml.Node) []Ignored {
	found := []Ignored{}
	if len(root.Content) == 0 {
		return found
	}
	collectIgnored(root.Content[0], reflect.TypeFor[Document](), "", &found)
	return found
}

// collectIgnored goes down a document and the type it was decoded into side by side.
func collectIgnored(node *yaml.Node, into reflect.Type, path string, found *[]Ignored) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case into.Kind() == reflect.Slice && node.Kind == yaml.SequenceNode:
		for at, item := range node.Content {
			collectIgnored(item, into.Elem(), fmt.Sprintf("%s[%d]", path, at), found)
		}
	case into.Kind() == reflect.Struct && node.Kind == yaml.MappingNode:
		for at := 0; at+1 < len(node.Content); at += 2 {
			collectIgnoredKey(node.Content[at], node.Content[at+1], into, path, found)
		}
	}
}

func collectIgnoredKey(key, value *yaml.Node, into reflect.Type, path string, found *[]Ignored) {
	// Merged mappings belong to where they are merged; a list of them is merged one by one.
	if key.Tag == "!!merge" {
		for _, merged := range mergedNodes(value) {
			collectIgnored(merged, into, path, found)
		}
		return
	}
	inner := strings.TrimPrefix(path+"."+key.Value, ".")
	field, isKnown := fieldOf(into, key.Value)
	if !isKnown || field.Type == reflect.TypeFor[yaml.Node]() {
		*found = append(*found, Ignored{Path: inner, Line: key.Line})
		return
	}
	collectIgnored(value, field.Type, inner, found)
}

func mergedNodes(value *yaml.Node) []*yaml.Node {
	if value.Kind == yaml.SequenceNode {
		return value.Content
	}
	return []*yaml.Node{value}
}

func fieldOf(in reflect.Type, key string) (reflect.StructField, bool) {
	fields := reflect.VisibleFields(in)
	at := slices.IndexFunc(fields, func(field reflect.StructField) bool { return field.Tag.Get("yaml") == key })
	if at < 0 {
		return reflect.StructField{}, false
	}
	return fields[at], true
}
