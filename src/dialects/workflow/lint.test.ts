import { expect, test } from "vitest";
import { formatProblem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { compileWorkflow } from "./compile/compile.ts";
import { documents } from "./document.ts";
import { lintWorkflow } from "./lint.ts";
import { countReads, fullWorkflow } from "./testing/full-graph.ts";

/** What lint finds in a workflow of these steps, without file and column. */
function lint(steps: string, spec = "activeDeadlineSeconds: 60"): readonly string[] {
  const text = `apiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: wf}\nspec:\n  ${spec}\n  steps:\n${steps.replace(/^/gm, "    ")}`;
  const read = readYaml(text, { file: "w.yaml" });
  const document = read.ok ? read.value.documents[0] : undefined;
  if (document === undefined) throw new Error("the test's document is no YAML");
  return documents.lint(document).map((problem) => formatProblem(problem).replace(/^w\.yaml:\d+:\d+: /, ""));
}
const box = "container: {image: busybox}";

test("a workflow without any limit of time is warned about", () => {
  const warning = "warning: spec: no deadline and no timeout: a step that hangs runs for ever";
  expect(lint(`a: {${box}}`, "suspend: false")).toEqual([warning]);
  expect(lint(`a: {${box}, timeoutSeconds: 5}`, "suspend: false")).toEqual([]);
  expect(lint(`a: {${box}}`)).toEqual([]);
});

test("a name that YAML has made another one of is warned about, and one in quotes is not", () => {
  expect(lint(`y: {${box}}\nb: {${box}, outputs: {n: {}}}`)).toEqual([
    'warning: spec.steps.true: the name is "true", which is what YAML makes of the plain words y, yes and on (write the name in quotes)',
    'warning: spec.steps.b.outputs.false: the name is "false", which is what YAML makes of the plain words n, no and off (write the name in quotes)',
  ]);
  expect(lint(`"y": {${box}}\nb: {${box}, outputs: {"n": {}}}`)).toEqual([]);
});

test("names that YAML has made others of are told beside the errors that follow from them", () => {
  const user = `b: {${box}, dependencies: [a], when: 'steps.a.outputs.n == "1"'}`;
  expect(lint(`a: {${box}, outputs: {n: {}}}\n${user}`)).toEqual([
    expect.stringMatching(/^error: spec\.steps\.b\.when: .*no output of "a" "n"/),
    expect.stringMatching(/^warning: spec\.steps\.a\.outputs\.false: the name is "false", /),
  ]);
  const tile = "container: {image: busybox, args: ['${{ item.x }}', '${{ item.y }}']}";
  expect(lint(`a: {${tile}, forEach: {matrix: {x: [1], y: [2]}}}`)).toEqual([
    expect.stringMatching(/^error: spec\.steps\.a\.container\.args\[1\]: .*no axis "y"/),
    expect.stringMatching(/^warning: spec\.steps\.a\.forEach\.matrix\.true: the name is "true", /),
  ]);
});

test("a fixed name and retry cannot go together", () => {
  const template = "template: {apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}}";
  expect(lint(`a: {${template}, retry: {limit: 1}}`)).toEqual([
    "error: spec.steps.a.template.metadata.name: a step with retry creates several objects (leave the name out, then each attempt gets its own)",
  ]);
  expect(lint(`a: {${template}}`)).toEqual([]);
  expect(lint(`a: {${template}, forEach: {items: [1, 2]}}`)).toEqual([
    "error: spec.steps.a.template.metadata.name: a step with forEach creates several objects (leave the name out, then each attempt gets its own)",
  ]);
});

test("what is applied keeps its name through all attempts, but not through items", () => {
  const template = "operation: Apply, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: fixed}}";
  expect(lint(`a: {${template}, retry: {limit: 1}}`)).toEqual([]);
  expect(lint(`a: {${template}, repeat: {until: "true"}}`)).toEqual([]);
  expect(lint(`a: {${template}, forEach: {items: [1, 2]}}`)).toEqual([
    "error: spec.steps.a.template.metadata.name: every item is applied to the same object (make the item part of the name)",
  ]);
});

test("a kind without a completion rule is warned about, unless the step says when it is done", () => {
  const template = "template: {apiVersion: example.com/v1, kind: Thing}";
  expect(lint(`a: {${template}}`)).toEqual([
    "warning: spec.steps.a.template: nothing is known about when a Thing is done; conditions Complete, Succeeded and Failed are looked for (say it with completion)",
  ]);
  expect(lint(`a: {${template}, completion: Ready}`)).toEqual([]);
});

test("two ways to try again at once are warned about", () => {
  const pod = "{restartPolicy: OnFailure, containers: [{name: main, image: busybox}]}";
  expect(lint(`a: {jobTemplate: {spec: {template: {spec: ${pod}}}}, retry: {limit: 1}}`)).toEqual([
    "warning: spec.steps.a.retry: restartPolicy OnFailure restarts the container, and retry starts the Job again",
  ]);
});

test("values written into a script are warned about, values passed to a program are not", () => {
  const spec = "params: [{name: who}]\n  activeDeadlineSeconds: 60";
  expect(lint(`a: {container: {image: i, command: [sh, -c, "echo \${{ params.who }}"]}}`, spec)).toEqual([
    "warning: spec.steps.a.container.command[2]: ${{ params.who }} becomes part of a script (pass it through env)",
  ]);
  expect(lint(`a: {container: {image: i, command: [greet], args: ["\${{ params.who }}"]}}`, spec)).toEqual([]);
  expect(
    lint(`a: {container: {image: i, command: [sh], env: [{name: W, value: "\${{ params.who }}"}]}}`, spec),
  ).toEqual([]);
});

test("the same in the container of a Job", () => {
  const pod = `{restartPolicy: Never, containers: [{name: main, image: i, command: [/bin/bash, -c], args: ["\${{ params.who }}"]}]}`;
  expect(
    lint(`a: {jobTemplate: {spec: {template: {spec: ${pod}}}}}`, "params: [{name: who}]\n  activeDeadlineSeconds: 60"),
  ).toEqual([
    "warning: spec.steps.a.jobTemplate.spec.template.spec.containers[0].args[0]: ${{ params.who }} becomes part of a script (pass it through env)",
  ]);
});

test("a condition that is always false is an error", () => {
  expect(lint(`a: {${box}, when: 1 > 2}`)).toEqual(['error: spec.steps.a.when: is always false: step "a" never runs']);
  expect(lint(`a: {${box}, when: 1 < 2}`)).toEqual([]);
});

test("a template that contains itself needs something that ends it", () => {
  const templateOf = (more: string, name = "t") => {
    const step = `{workflow: {templateRef: {name: ${name}}}${more}}`;
    const text = `apiVersion: slipway.dev/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: t}\nspec: {activeDeadlineSeconds: 9, steps: {a: ${step}}}`;
    const read = readYaml(text, { file: "w.yaml" });
    const document = read.ok ? read.value.documents[0] : undefined;
    if (document === undefined) throw new Error("the test's document is no YAML");
    return documents.lint(document).map(({ code, path }) => `${code} ${path}`);
  };
  expect(templateOf("")).toEqual(["recursion spec.steps.a.workflow.templateRef"]);
  expect(templateOf(", when: workflow.runNumber > 1")).toEqual([]);
  expect(templateOf(", repeat: {until: iteration > 2}")).toEqual([]);
  expect(templateOf("", "other")).toEqual([]);
});

const template = (name: string, steps: string, namespace = "") =>
  `apiVersion: slipway.dev/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: ${name}${namespace}}\nspec: {activeDeadlineSeconds: 9, steps: ${steps}}\n`;
const runs = (name: string, more = "") => `{s: {workflow: {templateRef: {name: ${name}}}${more}}}`;

/** What the templates of one file show together. */
function lintTogether(...texts: readonly string[]): readonly string[] {
  const read = readYaml(texts.join("---\n"), { file: "w.yaml" });
  if (!read.ok) throw new Error("the test's document is no YAML");
  const checked = read.value.documents.map((source) => {
    const { object } = documents.read(source);
    if (object === undefined) throw new Error("the test's document has an error");
    return { source, object };
  });
  return documents.lintTogether(checked).flat().map(formatProblem);
}

test("templates that contain each other are told, each with its way back and at its place", () => {
  const hint = "(a condition (when) ends the recursion)";
  const at = (line: number, column: number, field = "spec.steps.s.workflow.templateRef") =>
    `w.yaml:${line}:${column}: error: ${field}: the template`;
  expect(lintTogether(template("a", runs("b")), template("b", runs("c")), template("c", runs("a")))).toEqual([
    `${at(4, 70)} "a" contains itself: a -> b -> c -> a ${hint}`,
    `${at(9, 70)} "b" contains itself: b -> c -> a -> b ${hint}`,
    `${at(14, 70)} "c" contains itself: c -> a -> b -> c ${hint}`,
  ]);
  const written = `{s: {workflow: {spec: {steps: {t: {workflow: {templateRef: {name: a}}}}}}}}`;
  expect(lintTogether(template("a", runs("b")), template("b", written))).toEqual([
    expect.stringContaining("a -> b -> a"),
    expect.stringMatching(/spec\.steps\.s\.workflow\.spec\.steps\.t\.workflow\.templateRef: .* b -> a -> b/),
  ]);
});

test.each([
  ["a condition on the way", [template("a", runs("b")), template("b", runs("a", ', when: "params.x > 1"'))]],
  ["a chain that ends", [template("a", runs("b")), template("b", runs("c")), template("c", `{s: {${box}}}`)]],
  ["a template that runs a recursion of others without being in it", [template("a", runs("nobody"))]],
  ["the same names in two namespaces", [template("a", runs("b")), template("b", runs("a"), ", namespace: x")]],
])("no recursion is %s", (_what, texts) => {
  const declared = texts.map((text) => text.replace("spec: {", "spec: {params: [{name: x, type: integer}], "));
  expect(lintTogether(...declared)).toEqual([]);
});

test("edges of steps that all depend on each other are read once", () => {
  const workflow = fullWorkflow(100);
  const found = collectProblems();
  const compiled = compileWorkflow(workflow, found);
  if (compiled === undefined) throw new Error("the workflow is faultless");
  const { graph } = compiled.plan;
  const reads = countReads(graph);
  lintWorkflow(compiled, workflow, found);
  expect(reads()).toBe(graph.predecessors.targets.length);
  expect(found.problems.find(({ code }) => code === "redundant-edge")?.path).toBe("spec.steps.s10.dependencies[0]");
});

test("an edge that others imply is warned about", () => {
  expect(lint(`a: {${box}}\nb: {${box}, dependencies: [a]}\nc: {${box}, dependencies: [b, a]}`)).toEqual([
    'warning: spec.steps.c.dependencies[1]: "a" comes before another dependency already',
  ]);
});

test("a required argument is only missed, and hides nothing else", () => {
  const spec = "params: [{name: who, required: true}]";
  expect(lint(`a: {${box}}`, spec)).toEqual([
    'warning: spec.arguments.who: the parameter "who" is required (the argument must be set when the document is run)',
    "warning: spec: no deadline and no timeout: a step that hangs runs for ever",
  ]);
});

test("whatever admission refuses is found as well", () => {
  expect(lint("a: {}")).toEqual([
    "error: spec.steps.a: exactly one of jobTemplate, externalRef, template, workflow, container, wait, approval is required, found none",
  ]);
});

test("locks on steps that do no work of their own are warned about; a lock that nobody has a limit for is fine", () => {
  const locked = "locks: [{name: db}]";
  expect(lint(`a: {${box}, ${locked}}`)).toEqual([]);
  expect(lint(`a: {wait: {seconds: 5}, ${locked}}\nb: {approval: {}, ${locked}}`)).toEqual([
    "warning: spec.steps.a.locks: a timer takes no locks: they have no effect here (put it on the step that does the work)",
    "warning: spec.steps.b.locks: the lock is held for as long as people take to decide (put it on the step that does the work)",
  ]);
});

test.each([
  ["needs", "dependencies"],
  ["depends", "dependencies"],
  ["runAfter", "dependencies"],
  ["dependsOn", "dependencies"],
])("what other languages call %s is called %s here, in child workflows too", (word, field) => {
  const wrong = `is not a field of this kind (did you mean "${field}"?)`;
  expect(lint(`a: {${box}}\nb: {${box}, ${word}: [a]}`)).toEqual([`error: spec.steps.b.${word}: ${wrong}`]);
  expect(lint(`c: {workflow: {spec: {steps: {a: {${box}}, b: {${box}, ${word}: [a]}}}}}`)).toEqual([
    `error: spec.steps.c.workflow.spec.steps.b.${word}: ${wrong}`,
  ]);
});

test("plain words and numbers of YAML that should be texts are told to be put in quotes, in both forms of a step", () => {
  const env = 'env: [{name: A, value: N}, {name: B, value: 1.10}, {name: C, value: "N"}]';
  const pod = `{restartPolicy: Never, containers: [{name: main, image: busybox, ${env}}]}`;
  const words = "write it in quotes: YAML reads the plain words y, yes, on, true, n, no, off and false as booleans";
  const told = (at: string) => [
    `error: ${at}.env[0].value: Invalid value: false: must be of type string, not boolean (${words})`,
    `error: ${at}.env[1].value: Invalid value: 1.1: must be of type string, not number (write it in quotes: YAML reads it as a number)`,
  ];
  expect(lint(`a: {container: {image: busybox, ${env}}}`)).toEqual(told("spec.steps.a.container"));
  expect(lint(`a: {jobTemplate: {spec: {template: {spec: ${pod}}}}}`)).toEqual(
    told("spec.steps.a.jobTemplate.spec.template.spec.containers[0]"),
  );
});
