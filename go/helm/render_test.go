package helm

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const web = "apiVersion: v2\nname: web\nversion: 1.2.3\n"

func with(files map[string]string) map[string]string {
	all := map[string]string{"Chart.yaml": web}
	for name, text := range files {
		all[name] = text
	}
	return all
}

func rendered(t *testing.T, files map[string]string, values object) *Rendered {
	t.Helper()
	result, problems := Render(Request{
		Files: with(files), Values: values, Release: Release{Name: "shop", Namespace: "prod"},
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return result
}

func refusal(t *testing.T, files map[string]string, values object) string {
	t.Helper()
	result, problems := Render(Request{Files: with(files), Values: values})
	if len(problems) == 0 {
		t.Fatalf("got %v", result)
	}
	return problems[0].Message
}

// data renders one ConfigMap with these entries and returns its data.
func data(t *testing.T, entries string, files map[string]string, values object) object {
	t.Helper()
	all := map[string]string{"templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n" + entries}
	for name, text := range files {
		all[name] = text
	}
	return rendered(t, all, values).Objects[0]["data"].(object)
}

func TestValuesOfTheReleaseReplaceThoseOfTheChart(t *testing.T) {
	files := map[string]string{"values.yaml": "image: {name: nginx, tag: \"1\"}\nports: [80, 443]\ngone: 1\n"}
	entries := "  image: {{ .Values.image.name }}:{{ .Values.image.tag }}\n  ports: {{ .Values.ports | toJson | quote }}\n" +
		"  gone: {{ hasKey .Values \"gone\" | quote }}\n  release: {{ .Release.Name }}/{{ .Release.Namespace }}\n" +
		"  chart: {{ .Chart.Name }}-{{ .Chart.Version }}\n  missing: \"{{ .Values.none }}\"\n"
	got := data(t, entries, files, object{"image": object{"tag": "2"}, "ports": []any{8080}, "gone": nil})
	want := object{
		"image": "nginx:2", "ports": "[8080]", "gone": "false", "release": "shop/prod", "chart": "web-1.2.3", "missing": "",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestIncludeAndTplSeeAllTemplates(t *testing.T) {
	files := map[string]string{
		"templates/_helpers.tpl": "{{ define \"web.name\" }}{{ .Release.Name }}-web{{ end }}",
		"values.yaml":            "host: '{{ include \"web.name\" . }}.example.org'\n",
	}
	got := data(t, "  name: {{ include \"web.name\" . | upper }}\n  host: {{ tpl .Values.host . }}\n", files, nil)
	if got["name"] != "SHOP-WEB" || got["host"] != "shop-web.example.org" {
		t.Errorf("got %v", got)
	}
}

func TestFilesCapabilitiesAndLookup(t *testing.T) {
	files := map[string]string{"conf/a.ini": "a=1\nb=2", "conf/deep/b.ini": "c", "README.md": "x"}
	entries := "  a: {{ .Files.Get \"conf/a.ini\" | quote }}\n  lines: \"{{ len (.Files.Lines \"conf/a.ini\") }}\"\n" +
		"  glob: {{ (.Files.Glob \"conf/**.ini\").AsConfig | quote }}\n  deep: {{ (.Files.Glob \"**/b.ini\").AsSecrets | quote }}\n" +
		"  api: \"{{ .Capabilities.APIVersions.Has \"batch/v1\" }}\"\n  minor: {{ .Capabilities.KubeVersion.Minor | quote }}\n" +
		"  found: \"{{ len (lookup \"v1\" \"Secret\" \"a\" \"b\") }}\"\n"
	got := data(t, entries, files, nil)
	want := object{"a": "a=1\nb=2", "lines": "2", "glob": "a.ini: |-\n  a=1\n  b=2", "deep": "b.ini: Yw==", "api": "true", "minor": "34", "found": "0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestSubChartsGetTheirValuesAndGlobals(t *testing.T) {
	parent := web + "dependencies:\n- {name: db, version: ^1, condition: db.enabled}\n- {name: cache, alias: redis, version: 1.x}\n" +
		"- {name: extra, version: \"1\", tags: [more]}\n"
	child := func(name string) string { return "name: " + name + "\nversion: 1.0.0\n" }
	template := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Chart.Name }}}\ndata: {size: {{ .Values.size | quote }}, zone: {{ .Values.global.zone }}}\n"
	files := map[string]string{
		"Chart.yaml": parent, "values.yaml": "global: {zone: west}\nredis: {size: 7}\ntags: {more: false}\n",
	}
	for _, name := range []string{"db", "cache", "extra"} {
		files["charts/"+name+"/Chart.yaml"] = child(name)
		files["charts/"+name+"/values.yaml"] = "size: 1\n"
		files["charts/"+name+"/templates/map.yaml"] = template
	}
	objects := rendered(t, files, object{"db": object{"enabled": false}}).Objects
	text, _ := json.Marshal(objects)
	want := `[{"apiVersion":"v1","data":{"size":"7","zone":"west"},"kind":"ConfigMap","metadata":{"name":"redis"}}]`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
	if objects := rendered(t, files, object{"tags": object{"more": true}}).Objects; len(objects) != 3 {
		t.Errorf("got %v", objects)
	}
}

func TestObjectsAreInTheOrderOfCreationWithoutTests(t *testing.T) {
	result := rendered(t, map[string]string{
		"templates/a.yaml":    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n---\n# empty\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n",
		"templates/test.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: test}}\n",
		"templates/list.yaml": "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Service, metadata: {name: s}}]\n",
		"templates/NOTES.txt": "Open {{ .Release.Name }}.\n",
		"crds/c.yaml":         "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: c}\n",
	}, nil)
	var kinds []string
	for _, each := range result.Objects {
		kinds = append(kinds, each["kind"].(string))
	}
	if strings.Join(kinds, " ") != "CustomResourceDefinition Namespace Service Deployment" || result.Notes != "Open shop." {
		t.Errorf("got %v, %q", kinds, result.Notes)
	}
}

func TestProblemsNameTheirPlace(t *testing.T) {
	for title, each := range map[string]struct {
		files  map[string]string
		values object
		want   string
	}{
		"syntax":     {map[string]string{"templates/a.yaml": "a:\n{{ if }}"}, nil, "templates/a.yaml:2"},
		"required":   {map[string]string{"templates/a.yaml": "a: {{ required \"image is required\" .Values.image }}"}, nil, "image is required"},
		"fail":       {map[string]string{"templates/a.yaml": "{{ fail \"no\" }}"}, nil, "no"},
		"yaml":       {map[string]string{"templates/a.yaml": "a: [1"}, nil, "web/templates/a.yaml: rendered YAML"},
		"no object":  {map[string]string{"templates/a.yaml": "a: 1"}, nil, `expected objects with apiVersion and kind, found {"a":1}`},
		"dependency": {map[string]string{"Chart.yaml": web + "dependencies: [{name: db, version: 1.0.0}]"}, nil, `dependency "db" 1.0.0 is not in the folder charts/`},
		"recursion":  {map[string]string{"templates/a.yaml": "{{ define \"x\" }}{{ include \"x\" . }}{{ end }}{{ include \"x\" . }}"}, nil, "more than 500 deep"},
		"server":     {map[string]string{"Chart.yaml": web + "kubeVersion: '>= 1.99'"}, nil, "requires Kubernetes >= 1.99, found v1.34.0"},
		"schema": {
			map[string]string{"values.schema.json": `{"properties":{"image":{"type":"object","required":["tag"]}}}`},
			object{"image": object{}}, "chart web: values.image: missing properties: 'tag'",
		},
		"no chart": {map[string]string{"Chart.yaml": "version: 1"}, nil, "Chart.yaml: name: required"},
		"huge":     {map[string]string{"templates/a.yaml": "{{ repeat 9000000 \"x\" }}"}, nil, "over 8388608 bytes"},
	} {
		t.Run(title, func(t *testing.T) {
			if got := refusal(t, each.files, each.values); !strings.Contains(got, each.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}
