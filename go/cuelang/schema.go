package cuelang

import (
	"encoding/json"
	"strings"

	"cuelang.org/go/cue"
)

// Schema is the structural part of OpenAPI v3 that Kubernetes takes.
type Schema struct {
	Type        string            `json:"type,omitempty"`
	Format      string            `json:"format,omitempty"`
	Description string            `json:"description,omitempty"`
	Default     json.RawMessage   `json:"default,omitempty"`
	Enum        []json.RawMessage `json:"enum,omitempty"`
	Minimum     json.RawMessage   `json:"minimum,omitempty"`
	Maximum     json.RawMessage   `json:"maximum,omitempty"`
	Pattern     string            `json:"pattern,omitempty"`
	IsNullable  bool              `json:"nullable,omitempty"`
	Properties  *properties       `json:"properties,omitempty"`
	Required    []string          `json:"required,omitempty"`
	Items       *Schema           `json:"items,omitempty"`
	Additional  *Schema           `json:"additionalProperties,omitempty"`
	IsEither    bool              `json:"x-kubernetes-int-or-string,omitempty"`
	IsOpen      bool              `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
}

// properties keep the order of the text.
type properties struct {
	names   []string
	schemas map[string]*Schema
}

func (p *properties) MarshalJSON() ([]byte, error) {
	members := newObject()
	for _, name := range p.names {
		text, err := json.Marshal(p.schemas[name])
		if err != nil {
			return nil, err
		}
		members.add(name, text)
	}
	return members.end(), nil
}

// Schemas that refer to themselves end here.
const maxSchemaDepth = 16

// SchemaOf is the schema of a template's parameter.
func SchemaOf(asked Template) (*Schema, *Failed) {
	compiled, value, failure := shared.compiled(asked)
	if failure != nil {
		return nil, failure
	}
	parameter := value.LookupPath(cue.ParsePath(compiled.parameter))
	if parameter.IncompleteKind() == cue.TopKind || parameter.IsNull() {
		return &Schema{Type: "object"}, nil
	}
	return schemaOf(parameter, 0), nil
}

func schemaOf(value cue.Value, depth int) *Schema {
	schema := &Schema{Description: usageOf(value)}
	if chosen, isDefault := value.Default(); isDefault && value.IncompleteKind() != cue.BottomKind {
		if text, err := jsonOf(chosen); err == nil && !isConstant(value) {
			schema.Default = text
		}
	}
	kind := value.IncompleteKind()
	if kind&cue.NullKind != 0 && kind != cue.NullKind && kind != cue.TopKind {
		schema.IsNullable = true
		kind &^= cue.NullKind
	}
	switch kind {
	case cue.StringKind:
		schema.Type = "string"
	case cue.BytesKind:
		schema.Type, schema.Format = "string", "byte"
	case cue.BoolKind:
		schema.Type = "boolean"
	case cue.IntKind:
		schema.Type = "integer"
	case cue.FloatKind, cue.NumberKind:
		schema.Type = "number"
	case cue.StructKind:
		schema.object(value, depth)
		return schema
	case cue.ListKind:
		schema.list(value, depth)
		return schema
	case cue.IntKind | cue.StringKind:
		schema.IsEither = true
		return schema
	default:
		schema.IsOpen = true
		return schema
	}
	schema.Enum = enumOf(value)
	schema.constrain(value)
	return schema
}

// isConstant is for values that are concrete without a choice.
func isConstant(value cue.Value) bool {
	operator, _ := value.Expr()
	return value.IsConcrete() && operator != cue.OrOp
}

func (s *Schema) object(value cue.Value, depth int) {
	s.Type = "object"
	if depth >= maxSchemaDepth {
		s.IsOpen = true
		return
	}
	if branches := alternatives(value); len(branches) > 1 {
		for _, branch := range branches {
			s.fields(branch, depth, false)
		}
		return
	}
	s.fields(value, depth, true)
	if rest := value.LookupPath(cue.MakePath(cue.AnyString)); rest.Exists() {
		s.Additional = schemaOf(rest, depth+1)
		if s.Properties != nil {
			// A structural schema has either.
			s.Additional, s.IsOpen = nil, true
		}
	} else if s.Properties == nil {
		s.IsOpen = true
	}
}

func (s *Schema) fields(value cue.Value, depth int, areRequired bool) {
	fields, err := value.Fields(cue.Optional(true))
	if err != nil {
		s.IsOpen = true
		return
	}
	for fields.Next() {
		selector := fields.Selector()
		if selector.LabelType() != cue.StringLabel || selector.Type()&cue.PatternConstraint == cue.PatternConstraint {
			continue
		}
		if s.Properties == nil {
			s.Properties = &properties{schemas: map[string]*Schema{}}
		}
		name := selector.Unquoted()
		field := schemaOf(fields.Value(), depth+1)
		if known, isKnown := s.Properties.schemas[name]; isKnown {
			known.orElse(field)
			continue
		}
		s.Properties.names = append(s.Properties.names, name)
		s.Properties.schemas[name] = field
		if isRequired := selector.ConstraintType() != cue.OptionalConstraint && !isFilled(fields.Value()); areRequired && isRequired {
			s.Required = append(s.Required, name)
		}
	}
}

// orElse also allows what another branch of a disjunction does.
func (s *Schema) orElse(other *Schema) {
	if s.Type != other.Type {
		*s = Schema{Description: s.Description, IsOpen: true}
	} else if s.Enum != nil && other.Enum != nil {
		s.Enum = append(s.Enum, other.Enum...)
	} else {
		s.Enum = nil
	}
}

// isFilled is for what has a value without any data.
func isFilled(value cue.Value) bool { return value.Validate(cue.Concrete(true), cue.Final()) == nil }

func (s *Schema) list(value cue.Value, depth int) {
	s.Type = "array"
	if depth >= maxSchemaDepth {
		return
	}
	for _, branch := range alternatives(value) {
		if items := branch.LookupPath(cue.MakePath(cue.AnyIndex)); items.Exists() {
			s.Items = schemaOf(items, depth+1)
			return
		}
	}
	s.Items = &Schema{IsOpen: true}
}

// alternatives are the branches of a disjunction, or the value itself.
func alternatives(value cue.Value) []cue.Value {
	operator, values := value.Expr()
	if operator != cue.OrOp {
		return []cue.Value{value}
	}
	var all []cue.Value
	for _, each := range values {
		all = append(all, alternatives(each)...)
	}
	return all
}

// enumOf lists the values of a choice between concrete ones only.
func enumOf(value cue.Value) []json.RawMessage {
	var all []json.RawMessage
	seen := map[string]bool{}
	for _, each := range alternatives(value) {
		if each.IsNull() {
			continue
		}
		if !each.IsConcrete() {
			return nil
		}
		text, err := jsonOf(each)
		if err != nil {
			return nil
		}
		if !seen[string(text)] {
			seen[string(text)] = true
			all = append(all, text)
		}
	}
	return all
}

func (s *Schema) constrain(value cue.Value) {
	operator, values := value.Expr()
	switch operator {
	case cue.AndOp:
		for _, each := range values {
			s.constrain(each)
		}
	case cue.GreaterThanEqualOp, cue.LessThanEqualOp, cue.RegexMatchOp:
		text, err := values[0].MarshalJSON()
		if err != nil {
			return
		}
		switch operator {
		case cue.GreaterThanEqualOp:
			s.Minimum = text
		case cue.LessThanEqualOp:
			s.Maximum = text
		default:
			s.Pattern, _ = values[0].String()
		}
	}
}

// usageOf is what `// +usage=` says; without it, the comment itself.
func usageOf(value cue.Value) string {
	var said []string
	for _, group := range value.Doc() {
		for _, line := range strings.Split(group.Text(), "\n") {
			line = strings.TrimSpace(line)
			if usage, isUsage := strings.CutPrefix(line, "+usage="); isUsage {
				return strings.TrimSpace(usage)
			}
			if line != "" && !strings.HasPrefix(line, "+") {
				said = append(said, line)
			}
		}
	}
	return strings.Join(said, " ")
}
