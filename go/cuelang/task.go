package cuelang

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// Task is a template and the results of its finished actions.
type Task struct {
	Template
	Done []Done `json:"done"`
}

// Done is an action with what it returned, if anything.
type Done struct {
	Path   string          `json:"path"`
	Result json.RawMessage `json:"result"`
}

// State is what comes next in a task.
type State struct {
	Action     *Action  `json:"action,omitempty"`
	HasActions bool     `json:"hasActions"`
	Objects    *Objects `json:"objects,omitempty"`
}

// Action is a struct with `#do`.
type Action struct {
	Path       string          `json:"path"`
	Provider   string          `json:"provider"`
	Do         string          `json:"do"`
	Value      json.RawMessage `json:"value"`
	Incomplete []Problem       `json:"incomplete"`
	Attributes []string        `json:"attributes"`
}

// taskValue fills the results in. The value after the first results is usually known.
func (e *engine) taskValue(task Task) (cue.Value, *Failed) {
	e.refresh()
	keys := task.keys()
	for count := len(task.Done); count >= 0; count-- {
		value, isKnown := e.tasks.Get(keys[count])
		if !isKnown && count > 0 {
			continue
		}
		if !isKnown {
			var failure *Failed
			if _, value, failure = e.compiled(task.Template); failure != nil {
				return value, failure
			}
		}
		for _, done := range task.Done[count:] {
			filled, failure := e.withResult(value, done)
			if failure != nil {
				return value, failure
			}
			value = filled
		}
		e.tasks.Put(keys[len(task.Done)], value, 1)
		return value, nil
	}
	return cue.Value{}, nil
}

// keys name the task after none, one, two, … of its results.
func (t Task) keys() []string {
	parts := []string{t.Packages, t.File, t.Text, string(t.Parameter), string(t.Context)}
	for _, input := range t.Inputs {
		parts = append(parts, input.Path, string(input.Value))
	}
	key := strings.Join(parts, "\x00")
	keys := []string{key}
	for _, done := range t.Done {
		key += "\x00" + done.Path + "\x00" + string(done.Result)
		keys = append(keys, key)
	}
	return keys
}

func (e *engine) withResult(value cue.Value, done Done) (cue.Value, *Failed) {
	result, failure := jsonExpr(fileResult, done.Result)
	if failure != nil || result == nil {
		return value, failure
	}
	path := parsePath(done.Path)
	if path == nil {
		return value, failedWith(fmt.Sprintf("%q is not the path of an action", done.Path))
	}
	return value.FillPath(cue.MakePath(path...), e.context.BuildExpr(result)), nil
}

// Next finds the first action that has not been executed.
func Next(task Task) (*State, *Failed) {
	value, failure := shared.taskValue(task)
	if failure != nil {
		return nil, failure
	}
	if err := errorOf(value); err != nil {
		return nil, failed(problemsOf(err, codeConflict))
	}
	file, failure := shared.fileOf(task.Template)
	if failure != nil {
		return nil, failure
	}
	search := &search{done: map[string]bool{}}
	for _, done := range task.Done {
		search.done[done.Path] = true
	}
	search.root(value, file)
	state := &State{HasActions: search.hasActions}
	if search.found != nil {
		state.Action = search.action()
		return state, nil
	}
	if !search.hasActions {
		objects, problems := objectsOf(value, file)
		if problems != nil {
			return nil, failed(problems)
		}
		state.Objects = objects
	}
	return state, nil
}

// search goes through a value in the order of execution.
type search struct {
	done       map[string]bool
	hasActions bool
	found      *cue.Value
	path       []cue.Selector
}

var doPath, providerPath = cue.ParsePath("#do"), cue.ParsePath("#provider")

func (s *search) root(value cue.Value, file *ast.File) { s.fields(value, nil, orderOfFile(file)) }

func (s *search) visit(value cue.Value, path []cue.Selector, order *order) {
	switch value.IncompleteKind() {
	case cue.ListKind:
		items, err := value.List()
		for at := 0; err == nil && items.Next() && s.found == nil; at++ {
			s.visit(items.Value(), append(slices.Clip(path), cue.Index(at)), order)
		}
		return
	case cue.StructKind, cue.BottomKind, cue.TopKind:
	default:
		return
	}
	s.fields(value, path, order)
	if s.found != nil || !value.LookupPath(doPath).Exists() {
		return
	}
	s.hasActions = true
	if !s.done[pathText(path)] {
		s.found, s.path = &value, path
	}
}

type member struct {
	selector cue.Selector
	value    cue.Value
	name     string
	step     int
	rank     int
}

// Fields without a step come after those that have one.
const noStep = 1 << 30

func (s *search) fields(value cue.Value, path []cue.Selector, order *order) {
	fields, err := value.Fields(cue.Optional(true), cue.Hidden(true), cue.Definitions(false))
	if err != nil {
		return
	}
	var members []member
	for fields.Next() {
		selector := fields.Selector()
		if selector.IsConstraint() {
			selector = unconstrained(selector)
		}
		name := nameOf(selector)
		if len(path) == 0 && (isData(name) || name == "parameters") {
			continue
		}
		members = append(members, member{selector, fields.Value(), name, stepOf(fields.Value()), order.rank(name)})
	}
	sort.SliceStable(members, func(a, b int) bool {
		if members[a].step != members[b].step {
			return members[a].step < members[b].step
		}
		return members[a].rank < members[b].rank
	})
	for _, each := range members {
		if s.found == nil {
			s.visit(each.value, append(slices.Clip(path), each.selector), order.of(each.name))
		}
	}
}

func nameOf(selector cue.Selector) string {
	if selector.LabelType() == cue.StringLabel {
		return selector.Unquoted()
	}
	return selector.String()
}

// unconstrained is the selector of a field without its `?` or `!`.
func unconstrained(selector cue.Selector) cue.Selector {
	if selector.LabelType() == cue.StringLabel {
		return cue.Str(selector.Unquoted())
	}
	if path := parsePath(strings.TrimRight(selector.String(), "?!")); len(path) == 1 {
		return path[0]
	}
	return selector
}

func stepOf(value cue.Value) int {
	attribute := value.Attribute("step")
	if attribute.Err() != nil {
		return noStep
	}
	if step, err := attribute.Int(0); err == nil {
		return int(step)
	}
	return noStep
}

func pathText(path []cue.Selector) string { return cue.MakePath(path...).String() }

func (s *search) action() *Action {
	value := *s.found
	found := &Action{Path: pathText(s.path), Attributes: []string{}}
	found.Do, _ = value.LookupPath(doPath).String()
	found.Provider, _ = value.LookupPath(providerPath).String()
	depth := len(value.Path().Selectors())
	found.Incomplete = incompleteOf(value, func(path []string) bool { return len(path) > depth && path[depth] == "$returns" })
	if found.Do == "" {
		problem := Problem{Code: codeIncomplete, Message: "#do is not a string", Path: found.Path}
		found.Incomplete = append([]Problem{problem}, found.Incomplete...)
	}
	found.Value = partOfStruct(value, "$returns")
	for _, attribute := range value.Attributes(cue.FieldAttr) {
		switch name := attribute.Name(); name {
		case "once", "always":
			found.Attributes = append(found.Attributes, name)
		}
	}
	return found
}

// Lookup asks for values of a task.
type Lookup struct {
	Task
	Expressions []string `json:"expressions"`
}

// Found has a value if it exists and is concrete.
type Found struct {
	Exists   bool            `json:"exists"`
	Value    json.RawMessage `json:"value,omitempty"`
	Problems []Problem       `json:"problems"`
}

// LookUp evaluates paths and expressions over a task's value, which may have conflicts elsewhere.
func LookUp(asked Lookup) (*[]Found, *Failed) {
	value, failure := shared.taskValue(asked.Task)
	if failure != nil {
		return nil, failure
	}
	all := []Found{}
	for _, expression := range asked.Expressions {
		all = append(all, shared.lookUp(value, expression))
	}
	return &all, nil
}

func (e *engine) lookUp(value cue.Value, expression string) Found {
	var first Found
	for at, candidate := range candidates(expression) {
		found := e.evaluated(value, candidate)
		if found.Exists {
			return found
		}
		if at == 0 {
			first = found
		}
	}
	return first
}

// candidates are the ways in which a path is understood: as written, then below what an action returned.
func candidates(expression string) []string {
	all := []string{expression}
	if parsePath(expression) == nil || strings.Contains(expression, "$returns.") || isQuoted(expression) {
		return all
	}
	if rest := strings.TrimPrefix(expression, "output."); rest != expression {
		all = append(all, "output.$returns."+rest)
	} else if before, after, isInside := strings.Cut(expression, ".output."); isInside {
		all = append(all, before+".output.$returns."+after)
	}
	return append(all, expression+".$returns")
}

func isQuoted(expression string) bool {
	_, err := strconv.Unquote(strings.TrimSpace(expression))
	return err == nil
}

func (e *engine) evaluated(scope cue.Value, expression string) Found {
	found := Found{Problems: []Problem{}}
	var value cue.Value
	if path := parsePath(expression); path != nil && !isQuoted(expression) {
		value = scope.LookupPath(cue.MakePath(path...))
		if found.Exists = value.Exists(); !found.Exists {
			found.Problems = append(found.Problems, Problem{Code: codeIncomplete, Message: "the path does not exist", Path: expression})
			return found
		}
	} else {
		evaluated, failure := e.expression(expression, scope)
		if failure != nil {
			return Found{Problems: failure.Problems}
		}
		value = evaluated
		found.Exists = value.Err() == nil
	}
	text, err := jsonOf(value)
	if err != nil {
		found.Problems = problemsOf(err, codeIncomplete)
		return found
	}
	found.Value = text
	return found
}
