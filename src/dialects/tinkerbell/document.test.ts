import { expect, test } from "vitest";
import { readYaml } from "#lib/yaml/index.ts";
import { documents } from "./document.ts";

/** Problems of the only document of a text, as `line:column path: message`. */
function problemsOf(text: string): readonly string[] {
  const read = readYaml(text);
  if (!read.ok) throw new Error("no YAML");
  const [document] = read.value.documents;
  if (document === undefined) throw new Error("no document");
  expect(documents.detect(document)).toBe(true);
  const { object, problems } = documents.read(document);
  expect(object === undefined).toBe(problems.length > 0);
  return problems.map(
    ({ position, path, code, message }) => `${position?.line}:${position?.column} ${code} ${path}: ${message}`,
  );
}

const named = "metadata: {name: w}";

test.each([
  `apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\n${named}\nspec: {templateRef: t, hardwareMap: {device_1: local}}`,
  `apiVersion: tinkerbell.org/v1alpha2\nkind: Workflow\n${named}\nspec: {templateRef: {name: t}, hardwareRef: {name: h}}`,
  `apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\n${named}\nspec: {id: x, network: {interfaces: []}}`,
  `apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {generateName: t-}\nspec: {data: "tasks: []"}`,
  `apiVersion: tinkerbell.org/v1alpha2\nkind: OSIE\n${named}\nspec: {kernelUrl: x}`,
])("a document of either version is read as it is: %s", (text) => {
  expect(problemsOf(text)).toEqual([]);
});

test.each([
  [
    "v1alpha1\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templateRef: {name: t}",
    /^5:\d+ wrong-type spec.templateRef: /,
  ],
  ["v1alpha2\nkind: Workflow\nmetadata: {name: w}\nspec:\n  templateRef: t", /^5:\d+ wrong-type spec.templateRef: /],
  [
    "v1beta1\nkind: Workflow\nmetadata: {name: w}",
    /^1:\d+ unknown-version apiVersion: expected tinkerbell.org\/v1alpha1 or tinkerbell.org\/v1alpha2, found "tinkerbell.org\/v1beta1"$/,
  ],
  [
    "v1alpha1\nkind: Workflo\nmetadata: {name: w}",
    /^2:\d+ unknown-kind kind: expected Hardware, Template or Workflow, found "Workflo"$/,
  ],
  ["v1alpha1\nkind: Template\nspec: {data: x}", /^1:\d+ required metadata: /],
  ["v1alpha1\nkind: Template\nmetadata: {name: A_b}\nspec: {}", /^3:\d+ invalid-name metadata.name: /],
  [
    "v1alpha1\nkind: Hardware\nmetadata: {name: h}\nspec:\n  interfaces:\n  - dhcp:\n      mac: 08:00:27:9E:F5:3A",
    /^7:\d+ invalid-value spec.interfaces\[0\].dhcp.mac: /,
  ],
  [
    "v1alpha1\nkind: Hardware\nmetadata: {name: h}\nspec:\n  interfaces:\n  - dhcp: {boot_file_name: x}",
    /^6:\d+ invalid-value spec.interfaces\[0\].dhcp: .*both or neither$/,
  ],
  [
    "v1alpha2\nkind: Template\nmetadata: {name: t}\nspec:\n  actions: [{name: a, image: b}, {name: a, image: c}]",
    /^5:\d+ .* spec.actions\[1\]/,
  ],
])("what is wrong has a place: %s", (text, expected) => {
  const [first, ...more] = problemsOf(`apiVersion: tinkerbell.org/${text}`);
  expect(first).toMatch(expected);
  expect(more).toEqual([]);
});

test("a workflow refers to its template and its hardware, in the version it is written in", () => {
  const value = {
    apiVersion: "tinkerbell.org/v1alpha2",
    kind: "Workflow",
    metadata: { name: "w", namespace: "n" },
    spec: { templateRef: { name: "t" }, hardwareRef: { name: "h" } },
  };
  const common = { apiVersion: "tinkerbell.org/v1alpha2", namespace: "n" };
  const positionOf = () => ({ line: 1, column: 1 });
  expect(documents.references({ value, positionOf })).toEqual([
    { ref: { ...common, kind: "Template", name: "t" }, path: ["spec", "templateRef"] },
    { ref: { ...common, kind: "Hardware", name: "h" }, path: ["spec", "hardwareRef"] },
  ]);
});

const text = `version: "0.1"
name: Debian Install # for all
tasks:
  - name: t
    worker: {{.device_1}}
    {{ if .x }}actions: []{{ end }}
`;

test.each([
  ["from the text", text, "a/b.yaml", "debian-install"],
  [
    "from the file, where that is to be rendered",
    text.replace("Debian", "{{.x}}"),
    "a/My Template.yaml",
    "my-template",
  ],
  ["that is nobody's, where nothing has one", text.replace(/name: D.*/, ""), "-", "template"],
])("the text of a template is a Template as it is written, with a name %s", (_what, given, file, name) => {
  const document = documents.fromText?.(given, file);
  expect(document?.positionOf(["spec", "data"])).toEqual({ file, line: 1, column: 1 });
  expect(document && documents.read(document)).toEqual({
    problems: [],
    object: { apiVersion: "tinkerbell.org/v1alpha1", kind: "Template", metadata: { name }, spec: { data: given } },
  });
});

test.each([
  `apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nspec:\n  data: |\n    tasks:\n`,
  `apiVersion: x/v1\nkind: Tasks\ntasks: []`,
  `steps:\n  tasks: 1\n`,
])("what has an envelope or no tasks is no text of a template: %j", (other) => {
  expect(documents.fromText?.(other, "f.yaml")).toBeUndefined();
});

test("a workflow whose template stands beside it in the other shape is told of at its reference", () => {
  const version = (name: string) => `apiVersion: tinkerbell.org/${name}`;
  const template = (name: string) =>
    `${version("v1alpha2")}\nkind: Template\nmetadata: {name: ${name}}\nspec: {actions: [{name: a, image: i}]}`;
  const workflow = (name: string) =>
    `${version("v1alpha1")}\nkind: Workflow\nmetadata: {name: w}\nspec: {templateRef: ${name}}`;
  const yaml = readYaml([template("t"), workflow("t"), workflow("elsewhere")].join("\n---\n"));
  if (!yaml.ok) throw new Error("no YAML");
  const checked = yaml.value.documents.map((source) => {
    const { object } = documents.read(source);
    if (object === undefined) throw new Error("the documents are right by themselves");
    return { source, object };
  });
  const found = documents.readTogether(checked);
  expect(found.map((problems) => problems.map(({ path, message }) => `${path}: ${message}`))).toEqual([
    [],
    ['spec.templateRef: template "t" has shape B, the workflow shape A'],
    [],
  ]);
  expect(documents.lintTogether(checked)).toEqual(found);
});
