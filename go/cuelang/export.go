package cuelang

import (
	"bytes"
	"encoding/json"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/errors"
)

// jsonOf is a concrete value as JSON; numbers are exact.
func jsonOf(value cue.Value) (json.RawMessage, error) {
	if err := value.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return nil, err
	}
	return value.MarshalJSON()
}

// partOf is what is concrete of a value as JSON; nothing if nothing is. Items of lists that are not are null.
func partOf(value cue.Value) json.RawMessage {
	value, _ = value.Default()
	switch value.IncompleteKind() {
	case cue.StructKind:
		return partOfStruct(value, "")
	case cue.ListKind:
		return partOfList(value)
	}
	if text, err := value.MarshalJSON(); err == nil {
		return text
	}
	// A struct that cannot be judged as a whole still has fields.
	if text := partOfStruct(value, ""); len(text) > len("{}") {
		return text
	}
	return nil
}

func partOfStruct(value cue.Value, without string) json.RawMessage {
	fields, err := value.Fields()
	if err != nil {
		// Without concreteness, fields can be read in spite of errors of the whole.
		if fields, err = value.Fields(cue.Hidden(true)); err != nil {
			return json.RawMessage("{}")
		}
	}
	members := newObject()
	for fields.Next() {
		if selector := fields.Selector(); selector.IsString() && selector.Unquoted() != without {
			members.add(selector.Unquoted(), partOf(fields.Value()))
		}
	}
	return members.end()
}

func partOfList(value cue.Value) json.RawMessage {
	items, err := value.List()
	if err != nil {
		return nil
	}
	text := bytes.NewBufferString("[")
	for at := 0; items.Next(); at++ {
		if at > 0 {
			text.WriteByte(',')
		}
		if item := partOf(items.Value()); item != nil {
			text.Write(item)
		} else {
			text.WriteString("null")
		}
	}
	text.WriteByte(']')
	return text.Bytes()
}

// object is written in the order of its members.
type object struct{ text bytes.Buffer }

func newObject() *object {
	made := &object{}
	made.text.WriteByte('{')
	return made
}

// add leaves members without a value out.
func (o *object) add(name string, value json.RawMessage) {
	if value == nil {
		return
	}
	if o.text.Len() > 1 {
		o.text.WriteByte(',')
	}
	quoted, _ := json.Marshal(name)
	o.text.Write(quoted)
	o.text.WriteByte(':')
	o.text.Write(value)
}

func (o *object) end() json.RawMessage {
	o.text.WriteByte('}')
	return o.text.Bytes()
}

// incompleteOf lists why a value is not concrete. What an action returns is not asked for.
func incompleteOf(value cue.Value, skip func(path []string) bool) []Problem {
	err := value.Validate(cue.Concrete(true), cue.Final())
	if err == nil {
		return []Problem{}
	}
	var left errors.Error
	for _, each := range errors.Errors(err) {
		if !skip(each.Path()) {
			left = errors.Append(left, each)
		}
	}
	if left == nil {
		return []Problem{}
	}
	return problemsOf(left, codeIncomplete)
}
