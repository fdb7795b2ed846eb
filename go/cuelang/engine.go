package cuelang

import (
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"slipway/template/lru"
)

// A context keeps what it has ever compiled, so it is replaced after so many compilations.
const maxCompilations = 250

const (
	maxPackageSets = 4
	maxTemplates   = 128
	maxTasks       = 24
)

// engine is what questions share. It is used by one question at a time.
type engine struct {
	context      *cue.Context
	compilations int
	expressions  int
	// sources are texts of packages by their hash; they outlive contexts.
	sources *lru.Cache[map[string]string]
	// packages are parsed, by the same hash.
	packages  *lru.Cache[packages]
	templates *lru.Cache[*template]
	tasks     *lru.Cache[cue.Value]
}

type packages map[string]*build.Instance

var shared = &engine{sources: lru.New[map[string]string](maxPackageSets)}

// refresh replaces the context when it has grown. Values of the old one must not meet those of the new one.
func (e *engine) refresh() {
	if e.context != nil && e.compilations < maxCompilations {
		return
	}
	e.context, e.compilations = cuecontext.New(), 0
	e.packages = lru.New[packages](maxPackageSets)
	e.templates = lru.New[*template](maxTemplates)
	e.tasks = lru.New[cue.Value](maxTasks)
}

// packagesOf returns the packages with this hash; the second result is false if they have to be sent.
func (e *engine) packagesOf(hash string, sources map[string]string) (packages, bool, []Problem) {
	if hash == "" {
		return nil, true, nil
	}
	if sources != nil {
		e.sources.Put(hash, sources, 1)
	}
	if known, isKnown := e.packages.Get(hash); isKnown {
		return known, true, nil
	}
	texts, isKnown := e.sources.Get(hash)
	if !isKnown {
		return nil, false, nil
	}
	parsed, problems := parsePackages(texts)
	if problems != nil {
		return nil, true, problems
	}
	e.packages.Put(hash, parsed, 1)
	return parsed, true, nil
}

// parsePackages builds one instance for each text; they may import each other.
func parsePackages(texts map[string]string) (packages, []Problem) {
	parsed := packages{}
	var problems []Problem
	for path, text := range texts {
		file, err := parser.ParseFile(path, text, parser.ParseComments)
		if err != nil {
			problems = append(problems, problemsOf(err, codeSyntax)...)
			continue
		}
		instance := &build.Instance{ImportPath: path, PkgName: file.PackageName()}
		if err := instance.AddSyntax(file); err != nil {
			problems = append(problems, problemsOf(err, codeSyntax)...)
			continue
		}
		parsed[path] = instance
	}
	for _, instance := range parsed {
		for _, file := range instance.Files {
			instance.Imports = append(instance.Imports, parsed.importedBy(file)...)
		}
	}
	return parsed, problems
}

func (p packages) importedBy(file *ast.File) []*build.Instance {
	var imported []*build.Instance
	for _, spec := range file.Imports {
		if instance, isKnown := p[importPath(spec)]; isKnown {
			imported = append(imported, instance)
		}
	}
	return imported
}

// buildFile compiles one file without a package clause.
func (e *engine) buildFile(file *ast.File, known packages, options ...cue.BuildOption) (cue.Value, errors.Error) {
	e.compilations++
	instance := &build.Instance{Imports: known.importedBy(file)}
	if err := instance.AddSyntax(file); err != nil {
		return cue.Value{}, err
	}
	return e.context.BuildInstance(instance, options...), nil
}

// Reset drops everything but the sources of packages.
func Reset() { shared.context = nil }

// Crashed is the problem of a text that the evaluator cannot cope with.
func Crashed(thrown any) Problem {
	return Problem{Code: codeConflict, Message: fmt.Sprintf("CUE cannot evaluate the text: %v", thrown)}
}
