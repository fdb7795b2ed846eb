package cuelang

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"cuelang.org/go/cue/errors"
)

const (
	codeSyntax     = "cue-syntax"
	codeConflict   = "cue-conflict"
	codeIncomplete = "cue-incomplete"
)

// Problem is one of CUE's errors, at the first of the places it names, those of the template first.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

// Names of what is not the template, in positions.
const (
	fileParameter = "parameter"
	fileContext   = "context"
	fileResult    = "result"
	fileBase      = "base"
	fileJSON      = "context.json"
)

func isData(file string) bool {
	return file == fileParameter || file == fileContext || file == fileResult || file == fileBase || file == fileJSON
}

// problemsOf lists all errors, those of the parameter first.
func problemsOf(err error, code string) []Problem {
	var found []Problem
	seen := map[Problem]bool{}
	for _, each := range errors.Errors(err) {
		format, given := each.Msg()
		message := fmt.Sprintf(format, given...)
		if wrapped := errors.Unwrap(each); message == "" && wrapped != nil {
			message = wrapped.Error()
		}
		problem := Problem{Code: code, Message: message, Path: pathOf(each.Path())}
		problem.File, problem.Line, problem.Column = placeOf(each)
		if !seen[problem] {
			seen[problem] = true
			found = append(found, problem)
		}
	}
	all := slices.Clone(found)
	found = slices.DeleteFunc(found, func(problem Problem) bool {
		return emptyDisjunction.MatchString(problem.Message) && hasMore(all, problem)
	})
	sort.SliceStable(found, func(a, b int) bool { return ofParameter(found[a]) && !ofParameter(found[b]) })
	return found
}

// emptyDisjunction introduces errors that follow.
var emptyDisjunction = regexp.MustCompile(`^\d+ errors in empty disjunction`)

func hasMore(all []Problem, about Problem) bool {
	return slices.ContainsFunc(all, func(other Problem) bool { return other != about && strings.HasPrefix(other.Path, about.Path) })
}

// placeOf prefers positions in texts that people write to those in data and in packages.
func placeOf(err errors.Error) (string, int, int) {
	file, line, column, best := "", 0, 0, -1
	for _, place := range errors.Positions(err) {
		rank := 2
		switch name := place.Filename(); {
		case name == "" || isData(name):
			rank = 0
		case strings.Contains(name, "/"):
			rank = 1
		}
		if rank > best {
			file, line, column, best = place.Filename(), place.Line(), place.Column(), rank
		}
	}
	return file, line, column
}

func ofParameter(problem Problem) bool {
	return problem.Path == "parameter" || problem.Path == "parameters" ||
		strings.HasPrefix(problem.Path, "parameter.") || strings.HasPrefix(problem.Path, "parameters.")
}

func pathOf(elements []string) string { return strings.Join(elements, ".") }

// Failed is what is wrong with a question's texts or data.
type Failed struct{ Problems []Problem }

const maxToldProblems = 5

// Message is one line about all problems.
func (f *Failed) Message() string {
	var told []string
	for at, problem := range f.Problems {
		if at == maxToldProblems {
			told = append(told, fmt.Sprintf("and %d more", len(f.Problems)-at))
			break
		}
		told = append(told, problem.sentence())
	}
	return strings.Join(told, "; ")
}

func (p Problem) sentence() string {
	text := p.Message
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Line > 0 && !isData(p.File) {
		text += fmt.Sprintf(" (%s:%d:%d)", p.File, p.Line, p.Column)
	}
	return text
}

func failed(problems []Problem) *Failed { return &Failed{problems} }

func failedWith(message string) *Failed {
	return failed([]Problem{{Code: codeConflict, Message: message}})
}
