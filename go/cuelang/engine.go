package cuelang

import (
	"container/list"
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"
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
	sources *cache[map[string]string]
	// packages are parsed, by the same hash.
	packages  *cache[packages]
	templates *cache[*template]
	tasks     *cache[cue.Value]
}

type packages map[string]*build.Instance

var shared = &engine{sources: newCache[map[string]string](maxPackageSets)}

// refresh replaces the context when it has grown. Values of the old one must not meet those of the new one.
func (e *engine) refresh() {
	if e.context != nil && e.compilations < maxCompilations {
		return
	}
	e.context, e.compilations = cuecontext.New(), 0
	e.packages = newCache[packages](maxPackageSets)
	e.templates = newCache[*template](maxTemplates)
	e.tasks = newCache[cue.Value](maxTasks)
}

// packagesOf returns the packages with this hash; the second result is false if they have to be sent.
func (e *engine) packagesOf(hash string, sources map[string]string) (packages, bool, []Problem) {
	if hash == "" {
		return nil, true, nil
	}
	if sources != nil {
		e.sources.put(hash, sources)
	}
	if known, isKnown := e.packages.get(hash); isKnown {
		return known, true, nil
	}
	texts, isKnown := e.sources.get(hash)
	if !isKnown {
		return nil, false, nil
	}
	parsed, problems := parsePackages(texts)
	if problems != nil {
		return nil, true, problems
	}
	e.packages.put(hash, parsed)
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

// cache keeps the values that were used last.
type cache[V any] struct {
	limit int
	items map[string]*list.Element
	order *list.List
}

type cached[V any] struct {
	key   string
	value V
}

func newCache[V any](limit int) *cache[V] {
	return &cache[V]{limit: limit, items: map[string]*list.Element{}, order: list.New()}
}

func (c *cache[V]) get(key string) (V, bool) {
	if element, isKnown := c.items[key]; isKnown {
		c.order.MoveToFront(element)
		return element.Value.(cached[V]).value, true
	}
	var none V
	return none, false
}

func (c *cache[V]) put(key string, value V) {
	if element, isKnown := c.items[key]; isKnown {
		c.order.Remove(element)
	}
	c.items[key] = c.order.PushFront(cached[V]{key, value})
	if oldest := c.order.Back(); c.order.Len() > c.limit {
		c.order.Remove(oldest)
		delete(c.items, oldest.Value.(cached[V]).key)
	}
}

// Reset drops everything but the sources of packages.
func Reset() { shared.context = nil }

// Crashed is the problem of a text that the evaluator cannot cope with.
func Crashed(thrown any) Problem {
	return Problem{Code: codeConflict, Message: fmt.Sprintf("CUE cannot evaluate the text: %v", thrown)}
}
