package cuelang

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
)

// Vetted says nothing: problems are failures.
type Vetted struct{}

// Vet finds the problems of a template that need no data.
func Vet(asked Template) (*Vetted, *Failed) {
	compiled, value, failure := shared.compiled(asked)
	if failure != nil {
		return nil, failure
	}
	var problems []Problem
	if err := errorOf(value); err != nil {
		problems = problemsOf(err, codeConflict)
	} else if err := value.Validate(cue.DisallowCycles(true)); err != nil {
		// Without data, texts that have no cycle may seem to have one, but not in these words.
		problems = slices.DeleteFunc(problemsOf(err, codeConflict), func(problem Problem) bool {
			return !strings.Contains(problem.Message, "cycle")
		})
	}
	search := &search{done: map[string]bool{}}
	for search.root(value, compiled.file); search.found != nil; search.root(value, compiled.file) {
		problems = append(problems, search.misnamed()...)
		search.done[pathText(search.path)] = true
		search.found = nil
	}
	if len(problems) > 0 {
		return nil, failed(problems)
	}
	return &Vetted{}, nil
}

// misnamed is about actions whose name can never be known.
func (s *search) misnamed() []Problem {
	name := s.found.LookupPath(doPath)
	if _, err := name.String(); err == nil || name.IncompleteKind() == cue.StringKind {
		return nil
	}
	place := s.found.Pos()
	message := fmt.Sprintf("#do is %s, expected string", kindName(name))
	return []Problem{{Code: codeConflict, Message: message, Path: pathText(s.path), File: place.Filename(), Line: place.Line(), Column: place.Column()}}
}
