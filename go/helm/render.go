package helm

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// Release is what a chart knows of its installation.
type Release struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision"`
	IsUpgrade bool   `json:"isUpgrade"`
}

// Request is a chart by its files, whose paths are relative to it, and what it is rendered with.
type Request struct {
	Files       map[string]string `json:"files"`
	Release     Release           `json:"release"`
	Values      object            `json:"values"`
	KubeVersion string            `json:"kubeVersion"`
	APIVersions []string          `json:"apiVersions"`
}

// Rendered has the objects in the order in which they are to be created.
type Rendered struct {
	Objects []object `json:"objects"`
	Notes   string   `json:"notes,omitempty"`
	// Chart is the name and version, as in the label helm.sh/chart.
	Chart string `json:"chart"`
}

// Problem is an error of the chart or of its values. Path names the file.
type Problem struct {
	Message string
	Path    string
	Line    int
}

// Render renders a chart and its sub-charts. Either problems or a rendering is returned.
func Render(request Request) (*Rendered, []Problem) {
	root, err := load(request.Files, "")
	if err != nil {
		return nil, []Problem{problemOf(err)}
	}
	values := root.valuesFor(request.Values)
	scope := request.scope()
	if problems := root.check(values, scope); len(problems) > 0 {
		return nil, problems
	}
	run := &rendering{request: request, scope: scope}
	run.set = template.New("").Option("missingkey=zero").Funcs(plainFunctions())
	run.set.Funcs(linked(run.set, &run.depth))
	run.collect(root, root.name, values)
	return run.render(root)
}

func (request Request) scope() object {
	version := request.KubeVersion
	if version == "" {
		version = "v1.34.0"
	}
	parts := append(strings.Split(strings.TrimPrefix(version, "v"), "."), "0", "0")
	apis := versions(request.APIVersions)
	if len(apis) == 0 {
		apis = usual
	}
	release := request.Release
	return object{
		"Release": object{
			"Name": release.Name, "Namespace": release.Namespace, "Revision": max(release.Revision, 1),
			"IsUpgrade": release.IsUpgrade, "IsInstall": !release.IsUpgrade, "Service": "Helm",
		},
		"Capabilities": object{
			"APIVersions": apis,
			"KubeVersion": kubeVersion{Version: version, GitVersion: version, Major: parts[0], Minor: parts[1]},
			"HelmVersion": object{"Version": "v3.18.0", "GitCommit": "", "GitTreeState": "clean", "GoVersion": ""},
		},
	}
}

type kubeVersion struct{ Version, GitVersion, Major, Minor string }

func (version kubeVersion) String() string { return version.Version }

// versions are the APIs of the server: group/version, and group/version/kind.
type versions []string

func (known versions) Has(name string) bool { return slices.Contains(known, name) }

// usual are the APIs of every cluster, for callers that do not know better.
var usual = versions{
	"v1", "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "apps/v1",
	"authentication.k8s.io/v1", "authorization.k8s.io/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1",
	"certificates.k8s.io/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1", "networking.k8s.io/v1",
	"node.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1",
}

// check finds values that a schema refuses, and servers that are too old.
func (made *chart) check(values, scope object) []Problem {
	problems := made.schemaProblems(values)
	server := scope["Capabilities"].(object)["KubeVersion"].(kubeVersion).Version
	if made.kubeVersion != "" && !satisfies(server, made.kubeVersion) {
		message := fmt.Sprintf("chart %s requires Kubernetes %s, found %s", made.name, made.kubeVersion, server)
		problems = append(problems, Problem{Message: message, Path: "Chart.yaml"})
	}
	for _, child := range made.children {
		of, _ := values[child.name].(object)
		problems = append(problems, child.check(of, scope)...)
	}
	return problems
}

type rendering struct {
	request  Request
	scope    object
	set      *template.Template
	depth    int
	texts    []text
	problems []Problem
}

// text is a template that is rendered for itself.
type text struct {
	name   string
	data   object
	isRoot bool
}

// collect parses the templates of a chart and its sub-charts, whose names are those of Helm.
func (run *rendering) collect(made *chart, prefix string, values object) {
	children := object{}
	data := object{
		"Values": values, "Files": fileSet(made.files), "Subcharts": children, "Chart": chartData(made, prefix == made.name),
		"Release": run.scope["Release"], "Capabilities": run.scope["Capabilities"],
	}
	for _, child := range made.children {
		of, _ := values[child.name].(object)
		run.collect(child, prefix+"/charts/"+child.name, of)
		children[child.name] = object{"Values": of}
	}
	for _, each := range made.templates {
		name := prefix + "/" + each.name
		if _, err := run.set.New(name).Parse(each.text); err != nil {
			run.problems = append(run.problems, problemOf(err))
			continue
		}
		if strings.HasPrefix(path.Base(name), "_") || made.isLibrary {
			continue
		}
		own := object{"Template": object{"Name": name, "BasePath": prefix + "/templates"}}
		for key, value := range data {
			own[key] = value
		}
		run.texts = append(run.texts, text{name: name, data: own, isRoot: !strings.Contains(prefix, "/")})
	}
}

// chartData has the names of the fields of Helm's own type: the keys of Chart.yaml with a capital.
func chartData(made *chart, isRoot bool) object {
	data := object{"Name": made.name, "IsRoot": isRoot, "Type": "application"}
	for key, value := range made.metadata {
		data[strings.ToUpper(key[:1])+key[1:]] = value
	}
	data["APIVersion"], data["Name"] = made.metadata["apiVersion"], made.name
	return data
}

func (run *rendering) render(root *chart) (*Rendered, []Problem) {
	result := &Rendered{Objects: []object{}, Chart: root.name + "-" + textOf(root.metadata["version"])}
	run.definitions(root, result)
	total := 0
	for _, each := range run.texts {
		var out limited
		if err := run.set.ExecuteTemplate(&out, each.name, each.data); err != nil {
			run.problems = append(run.problems, problemOf(err))
			continue
		}
		if total += out.Len(); total > largest {
			return nil, append(run.problems, Problem{Message: fmt.Sprintf("the rendered text is over %d bytes", largest)})
		}
		written := withoutNoValue(out.String())
		switch {
		case path.Base(each.name) == "NOTES.txt":
			if each.isRoot {
				result.Notes = strings.TrimSpace(written)
			}
		case slices.Contains([]string{".yaml", ".yml", ".json", ".tpl"}, path.Ext(each.name)):
			result.Objects = append(result.Objects, run.objects(each.name, written)...)
		}
	}
	if len(run.problems) > 0 {
		return nil, run.problems
	}
	slices.SortStableFunc(result.Objects, func(a, b object) int { return rank(a) - rank(b) })
	return result, nil
}

func (run *rendering) definitions(made *chart, result *Rendered) {
	for _, child := range made.children {
		run.definitions(child, result)
	}
	for _, each := range made.crds {
		result.Objects = append(result.Objects, run.objects(each.name, each.text)...)
	}
}

var separator = regexp.MustCompile(`(?m)^---[ \t]*(?:#.*)?\r?$|^--- `)

// objects reads the documents of a rendered text. Tests of a chart, and what runs on deletion only, are left out.
func (run *rendering) objects(name, written string) []object {
	var found []object
	for _, document := range separator.Split(written, -1) {
		var value any
		if err := yaml.Unmarshal([]byte(document), &value); err != nil {
			run.problems = append(run.problems, Problem{Message: fmt.Sprintf("%s: rendered YAML: %v", name, err), Path: name})
			continue
		}
		if value == nil {
			continue
		}
		each, isObject := value.(object)
		if !isObject || textOf(each["kind"]) == "" || textOf(each["apiVersion"]) == "" {
			message := fmt.Sprintf("%s: expected objects with apiVersion and kind, found %s", name, excerpt(value))
			run.problems = append(run.problems, Problem{Message: message, Path: name})
			continue
		}
		if items, isList := each["items"].([]any); isList && strings.HasSuffix(textOf(each["kind"]), "List") {
			for _, item := range items {
				if inner, isObject := item.(object); isObject {
					found = append(found, inner)
				}
			}
			continue
		}
		if isWanted(each) {
			found = append(found, each)
		}
	}
	return found
}

func excerpt(value any) string {
	text, _ := json.Marshal(value)
	if len(text) > 80 {
		return string(text[:80]) + "…"
	}
	return string(text)
}

func isWanted(each object) bool {
	annotations, _ := at(each, "metadata.annotations").(object)
	hooks := textOf(annotations["helm.sh/hook"])
	if hooks == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(hooks, ","), func(hook string) bool {
		hook = strings.TrimSpace(hook)
		return strings.HasSuffix(hook, "-install") || strings.HasSuffix(hook, "-upgrade") || hook == "crd-install"
	})
}

// order is that in which objects may need each other.
var order = []string{
	"CustomResourceDefinition", "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange",
	"PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap", "StorageClass", "PersistentVolume",
	"PersistentVolumeClaim", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "DaemonSet", "Pod",
	"ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
	"IngressClass", "Ingress", "APIService",
}

func rank(each object) int {
	if found := slices.Index(order, textOf(each["kind"])); found >= 0 {
		return found
	}
	return len(order)
}

var placed = regexp.MustCompile(`template: ([^:\s]+):(\d+)`)

func problemOf(err error) Problem {
	problem := Problem{Message: err.Error()}
	if found := placed.FindStringSubmatch(problem.Message); found != nil {
		problem.Path = found[1]
		problem.Line, _ = strconv.Atoi(found[2])
	}
	return problem
}
