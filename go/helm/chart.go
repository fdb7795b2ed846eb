// Package helm renders charts from their files, without a cluster and without Helm.
package helm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"sigs.k8s.io/yaml"
)

type dependency struct {
	Name         string   `json:"name"`
	Alias        string   `json:"alias"`
	Version      string   `json:"version"`
	Condition    string   `json:"condition"`
	Tags         []string `json:"tags"`
	ImportValues []any    `json:"import-values"`
}

type source struct {
	name string
	text string
}

// chart is a chart with the sub-charts that are enabled.
type chart struct {
	name         string
	isLibrary    bool
	kubeVersion  string
	metadata     object
	defaults     object
	schema       string
	templates    []source
	crds         []source
	files        map[string]string
	dependencies []dependency
	children     []*chart
}

type object = map[string]any

// load reads a chart from files below the folder, which ends with a slash or is empty.
func load(files map[string]string, folder string) (*chart, error) {
	text, isThere := files[folder+"Chart.yaml"]
	if !isThere {
		return nil, fmt.Errorf("%sChart.yaml: not found; expected a chart in this folder", folder)
	}
	made := &chart{files: map[string]string{}}
	if err := yaml.Unmarshal([]byte(text), &made.metadata); err != nil {
		return nil, fmt.Errorf("%sChart.yaml: %w", folder, err)
	}
	made.name = textOf(made.metadata["name"])
	if made.name == "" {
		return nil, fmt.Errorf("%sChart.yaml: name: required", folder)
	}
	made.isLibrary = made.metadata["type"] == "library"
	made.kubeVersion = textOf(made.metadata["kubeVersion"])
	if err := made.readDependencies(files, folder, text); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal([]byte(files[folder+"values.yaml"]), &made.defaults); err != nil {
		return nil, fmt.Errorf("%svalues.yaml: %w", folder, err)
	}
	made.schema = files[folder+"values.schema.json"]
	made.sort(files, folder)
	return made, made.loadChildren(files, folder)
}

// readDependencies also reads requirements.yaml, where charts of the first version have them.
func (made *chart) readDependencies(files map[string]string, folder, text string) error {
	var listed struct {
		Dependencies []dependency `json:"dependencies"`
	}
	if err := yaml.Unmarshal([]byte(text), &listed); err != nil {
		return fmt.Errorf("%sChart.yaml: %w", folder, err)
	}
	if len(listed.Dependencies) == 0 {
		if err := yaml.Unmarshal([]byte(files[folder+"requirements.yaml"]), &listed); err != nil {
			return fmt.Errorf("%srequirements.yaml: %w", folder, err)
		}
	}
	made.dependencies = listed.Dependencies
	return nil
}

// sort divides the chart's own files into templates, definitions of kinds, and what .Files shows.
func (made *chart) sort(files map[string]string, folder string) {
	for _, name := range sortedKeys(files) {
		within, isOwn := strings.CutPrefix(name, folder)
		switch {
		case !isOwn || strings.HasPrefix(within, "charts/"):
		case strings.HasPrefix(within, "templates/"):
			made.templates = append(made.templates, source{within, files[name]})
		case strings.HasPrefix(within, "crds/"):
			made.crds = append(made.crds, source{within, files[name]})
		case !slices.Contains([]string{"Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json"}, within):
			made.files[within] = files[name]
		}
	}
}

func (made *chart) loadChildren(files map[string]string, folder string) error {
	charts := folder + "charts/"
	for _, name := range sortedKeys(files) {
		within, isBelow := strings.CutPrefix(name, charts)
		if !isBelow || path.Base(within) != "Chart.yaml" || strings.Count(within, "/") != 1 {
			continue
		}
		child, err := load(files, charts+path.Dir(within)+"/")
		if err != nil {
			return err
		}
		made.children = append(made.children, child)
	}
	return made.resolve(folder)
}

// resolve gives sub-charts their aliases, and finds those that are missing. Sub-charts nobody declares are used too.
func (made *chart) resolve(folder string) error {
	declared := map[string]bool{}
	var used []*chart
	for _, wanted := range made.dependencies {
		declared[wanted.Name] = true
		found := slices.IndexFunc(made.children, func(child *chart) bool {
			return child.name == wanted.Name && satisfies(textOf(child.metadata["version"]), wanted.Version)
		})
		if found < 0 {
			return fmt.Errorf("%sChart.yaml: dependency %q %s is not in the folder charts/", folder, wanted.Name, wanted.Version)
		}
		child := *made.children[found]
		if wanted.Alias != "" {
			child.name = wanted.Alias
		}
		used = append(used, &child)
	}
	for _, child := range made.children {
		if !declared[child.name] {
			used = append(used, child)
		}
	}
	made.children = used
	return nil
}

// satisfies is true for versions and constraints that cannot be read: only a clear mismatch is an error.
func satisfies(version, constraint string) bool {
	wanted, err := semver.NewConstraint(constraint)
	if err != nil {
		return true
	}
	given, err := semver.NewVersion(version)
	return err != nil || wanted.Check(given)
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}

func sortedKeys[V any](values map[string]V) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
