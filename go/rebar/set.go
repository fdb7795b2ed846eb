package rebar

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"
)

// Source is what a set of templates is made of.
type Source struct {
	Templates []TemplateText `json:"templates"`
	Actions   []ActionText   `json:"actions"`
}

// TemplateText is a template by its name. Inline ones, which belong to the rendered object, define no others.
type TemplateText struct {
	Name     string `json:"name"`
	Text     string `json:"text"`
	IsInline bool   `json:"isInline"`
}

// ActionText is what is rendered: a template of the set, to a path.
type ActionText struct {
	// Name is of the template; Shown is that of messages about the path.
	Name  string `json:"name"`
	Shown string `json:"shown"`
	Path  string `json:"path"`
}

// set has templates that may call each other. It outlives the question.
type set struct {
	root    *template.Template
	actions []ActionText
	paths   []*template.Template
	// called are names of static calls that the set does not have.
	called   []string
	problems []string
}

func sandboxed() template.FuncMap {
	all := sprig.GenericFuncMap()
	for _, name := range []string{"env", "expandenv", "now", "ago"} {
		delete(all, name)
	}
	all["getHostByName"] = func(name string) (string, error) {
		return "", fmt.Errorf("%s is not resolved, because templates have no network", name)
	}
	return template.FuncMap(all)
}

// Copies of it get their functions for less.
var empty = template.New("").Option("missingkey=error").Funcs(sandboxed())

func fresh() *template.Template {
	// Cloning fails for templates that have escaped HTML only.
	root, _ := empty.Clone()
	return root
}

func newSet(text json.RawMessage) (*set, error) {
	var source Source
	if err := json.Unmarshal(text, &source); err != nil {
		return nil, err
	}
	made := &set{root: fresh(), actions: source.Actions}
	for _, each := range source.Templates {
		if err := parseInto(made.root, each); err != nil {
			made.problems = append(made.problems, err.Error())
		}
	}
	for _, action := range source.Actions {
		var path *template.Template
		if action.Path != "" {
			var err error
			if path, err = parsePath(action); err != nil {
				made.problems = append(made.problems, err.Error())
			}
		}
		made.paths = append(made.paths, path)
	}
	made.called = undefined(made.root)
	return made, nil
}

func parsePath(action ActionText) (*template.Template, error) {
	parsed, err := fresh().New(action.Shown).Parse(action.Path)
	if err != nil {
		return nil, fmt.Errorf("Error compiling path template %s (%s): %w", action.Shown, action.Path, err)
	}
	return parsed, nil
}

func parseInto(root *template.Template, each TemplateText) error {
	if each.IsInline {
		if err := refuseDefinitions(each); err != nil {
			return err
		}
	}
	_, err := root.New(each.Name).Parse(each.Text)
	return err
}

// refuseDefinitions lets the parser find a definition within another one, which it does not allow.
func refuseDefinitions(each TemplateText) error {
	if !strings.Contains(each.Text, "define") {
		return nil
	}
	if _, err := fresh().New(each.Name).Parse(each.Text); err != nil {
		return err
	}
	_, err := fresh().New(each.Name).Parse("{{define \"inline\"}}" + each.Text + "{{end}}")
	return err
}

// parseLate parses a text that comes from data.
func (s *set) parseLate(name, text string) (*template.Template, error) {
	each := TemplateText{Name: name, Text: text, IsInline: true}
	if err := refuseDefinitions(each); err != nil {
		return nil, err
	}
	parsed, err := fresh().New(name).Parse(text)
	if err != nil || len(undefined(parsed)) == 0 {
		return parsed, err
	}
	// A text that calls other templates is rare; its copy of the set does not change the set.
	whole, err := s.root.Clone()
	if err != nil {
		return nil, err
	}
	return whole.New(name).Parse(text)
}

// undefined are names of templates that are called and not there.
func undefined(root *template.Template) []string {
	var names []string
	for _, each := range root.Templates() {
		if each.Tree != nil {
			walk(each.Tree.Root, func(name string) {
				if root.Lookup(name) == nil {
					names = append(names, name)
				}
			})
		}
	}
	return names
}

func walk(node parse.Node, visit func(name string)) {
	branch := func(node *parse.BranchNode) {
		walk(node.List, visit)
		if node.ElseList != nil {
			walk(node.ElseList, visit)
		}
	}
	switch node := node.(type) {
	case *parse.ListNode:
		for _, each := range node.Nodes {
			walk(each, visit)
		}
	case *parse.IfNode:
		branch(&node.BranchNode)
	case *parse.RangeNode:
		branch(&node.BranchNode)
	case *parse.WithNode:
		branch(&node.BranchNode)
	case *parse.TemplateNode:
		visit(node.Name)
	}
}

// CheckRequest asks for errors of syntax.
type CheckRequest struct {
	Templates []TemplateText `json:"templates"`
	Paths     []ActionText   `json:"paths"`
}

// Checked has one message for each text that does not parse.
type Checked struct {
	Templates []Complaint `json:"templates"`
	Paths     []Complaint `json:"paths"`
}

// Complaint is about the text at this place of the question.
type Complaint struct {
	At      int    `json:"at"`
	Message string `json:"message"`
}

// Check parses texts one by one.
func Check(request CheckRequest) *Checked {
	checked := &Checked{Templates: []Complaint{}, Paths: []Complaint{}}
	for at, each := range request.Templates {
		if err := parseInto(fresh(), each); err != nil {
			checked.Templates = append(checked.Templates, Complaint{at, err.Error()})
		}
	}
	for at, each := range request.Paths {
		if _, err := fresh().New(each.Shown).Parse(each.Path); err != nil {
			checked.Paths = append(checked.Paths, Complaint{at, err.Error()})
		}
	}
	return checked
}
