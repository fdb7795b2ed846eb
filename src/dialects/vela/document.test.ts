import { expect, test } from "vitest";
import { formatProblem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { documents } from "./document.ts";

function read(text: string) {
  const yaml = readYaml(text, { file: "a.yaml" });
  if (!yaml.ok) throw new Error(yaml.error.map(formatProblem).join("\n"));
  return yaml.value.documents.map((document) => documents.read(document));
}

const problemsOf = (text: string): readonly string[] =>
  read(text).flatMap(({ problems }) => problems.map(formatProblem));

/** Lines of a workflow's steps in an application with two components. */
const withSteps = (steps: string): string => `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: { name: a }
spec:
  components:
    - { name: web, type: webservice, properties: { image: nginx } }
    - { name: db, type: mysql }
  workflow:
    steps:
${steps.replaceAll(/^/gm, "      ")}`;

/** Problems without the place, which depends on the frame. */
const stepProblems = (steps: string): readonly string[] =>
  problemsOf(withSteps(steps)).map((problem) =>
    problem.replace(/^a\.yaml:\d+:\d+: /, "").replaceAll("spec.workflow.", ""),
  );

const seedDocument = `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata:
  name: my-app
spec:
  components:
    - name: mysvc
      type: webservice
      properties:
        image: nginx
  policies:
    - type: security
      properties:
        rbac: enabled
        audit: enabled
        secretBackend: vault
    - type: deployment-insights
      properties:
        leadTime: enabled
        frequency: enabled
        mttr: enabled
  workflow:
    steps:
      # blue-green rollout
      - type: blue-green-rollout
        stage: post-render # stage could be pre/post-render. Default is post-render.
        properties:
          partition: "50%"
      # suspend can manually stop the workflow and resume. it will also allow suspend policy for workflow.
      - type: suspend
      # traffic shift
      - type: traffic-shift
        properties:
          partition: "50%"
      # promote/rollback
      - type: rollout-promotion
        properties:
          manualApproval: true
          rollbackIfNotApproved: true
`;

test("17.1 the first document of the proposal is accepted, and its names are filled in", () => {
  const [reading] = read(seedDocument);
  expect(reading?.problems).toEqual([]);
  const spec = reading?.object?.spec as {
    readonly policies: readonly { readonly name: string }[];
    readonly workflow: { readonly steps: readonly { readonly name: string }[] };
  };
  expect(spec.policies.map(({ name }) => name)).toEqual(["security-auto-gen-0", "deployment-insights-auto-gen-1"]);
  expect(spec.workflow.steps.map(({ name }) => name)).toEqual(["step-0", "step-1", "step-2", "step-3"]);
});

test.each([
  [
    "database first",
    `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: { name: my-app }
spec:
  components:
    - name: my-db
      type: mysql
      properties:
    - name: my-app
      type: webservice
  workflow:
    steps:
      - type: apply-component
        outputs:
          - name: connSecret
            valueFrom: output.status.connSecret
        properties:
          name: my-db
      - type: apply-component
        inputs:
          - from: connSecret
            parameterKey: patch.valueFrom.field
        properties:
          name: my-app
          patch:
            to:
              field: spec.containers[0].envFrom[0].secretRef.name
            valueFrom:
              apiVersion: database.example.org/v1alpha1
              kind: MySQLInstance
              name: my-db
`,
  ],
  [
    "several clusters",
    withSteps(`
- type: open-cluster-management
  properties:
    placement:
      - clusterSelector:
          region: east
        replicas: "70%"
      - clusterSelector:
          region: west
        replicas: "20%"`),
  ],
  [
    "GitOps",
    withSteps("- type: gitops\n  properties:\n    gitRepo: git-repo-url\n    branch: branch\n    credentials: x"),
  ],
  [
    "a Helm chart before rendering, without components",
    `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: { name: my-app }
spec:
  workflow:
    steps:
      - type: helm-template
        stage: pre-render
        properties:
          source: git-repo-url
          path: chart/folder/path
          parameters:
            image: my-image
            replicas: 3
`,
  ],
  [
    "conditions",
    withSteps(`
- name: request
  type: webhook
- name: handle-200
  type: deploy
  if: request.output.responseCode == 200
- name: handle-400
  type: notification
  if: request.output.responseCode == 400
- name: handle-500
  type: rollback
  if: request.output.responseCode == 500`),
  ],
  [
    "always",
    withSteps("- type: deploy\n  name: deploy-app\n- name: notificationA\n  if: always\n  type: notification"),
  ],
  [
    "a group",
    withSteps(`
- type: step-group
  name: run-step-group1
  subSteps:
    - name: sub-step1
      type: apply-component
      properties: { component: web }
    - name: sub-step2
      type: apply-component
      properties: { component: db }`),
  ],
  [
    "a step definition",
    `
apiVersion: core.oam.dev/v1beta1
kind: WorkflowStepDefinition
metadata:
  name: apply
spec:
  schematic:
    cue:
      template: |
        import "vela/op"
        parameters: {
          image: string
        }
        apply: op.#Apply & {
          resource: context.workload
        }
`,
  ],
  [
    "a status by hand: suspend",
    `
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: { name: foo }
spec: { components: [{ name: a, type: b }] }
status:
  phase: runningWorkflow
  workflow: { stepIndex: 1, suspend: true, steps: [{ name: x }] }
`,
  ],
])("17.1 the proposal's document is accepted: %s", (_name, text) => {
  expect(problemsOf(text)).toEqual([]);
});

test("bad input: duplicate names, both positions", () => {
  expect(stepProblems("- { name: a, type: x }\n- { name: a, type: z }")).toEqual([
    'error: steps[1].name: step name "a" is already used at steps[0]',
  ]);
  const group = "- name: g\n  type: step-group\n  subSteps: [{ name: a, type: x }]\n- { name: a, type: z }";
  expect(stepProblems(group)).toEqual(['error: steps[1].name: step name "a" is already used at steps[0].subSteps[0]']);
  const text = withSteps("- { type: x }").replace("name: db", "name: web");
  expect(problemsOf(text)).toEqual([
    'a.yaml:8:15: error: spec.components[1].name: component name "web" is already used at spec.components[0]',
  ]);
});

test("bad input: a given name that is the default of another step is a duplicate", () => {
  expect(stepProblems("- { type: x }\n- { name: step-0, type: z }")).toHaveLength(1);
});

test("bad input: dependsOn names no step or component", () => {
  expect(stepProblems("- { name: build, type: x }\n- { name: b, type: z, dependsOn: [biuld] }")).toEqual([
    'error: steps[1].dependsOn[0]: step "b" depends on "biuld", which does not exist (did you mean "build"?)',
  ]);
  const text = withSteps("- { type: x }").replace("type: mysql", "type: mysql, dependsOn: [webb]");
  expect(problemsOf(text)).toEqual([
    'a.yaml:8:44: error: spec.components[1].dependsOn[0]: component "db" depends on "webb", which does not exist ' +
      '(did you mean "web"?)',
  ]);
});

test.each([
  ["dependsOn", "- { name: a, type: x, dependsOn: [b] }\n- { name: b, type: x, dependsOn: [a] }", "a -> b -> a"],
  ["itself", "- { name: a, type: x, dependsOn: [a] }", "a -> a"],
  [
    "inputs",
    "- { name: a, type: x, inputs: [{ from: v.x }], outputs: [{ name: w, valueFrom: y }] }\n" +
      "- { name: b, type: x, inputs: [{ from: w }], outputs: [{ name: v, valueFrom: y }] }",
    "a -> b -> a",
  ],
  [
    "a group and its own step",
    "- { name: g, type: step-group, subSteps: [{ name: s, type: x, dependsOn: [g] }] }",
    "g -> s -> g",
  ],
])("bad input: a cycle over %s is printed", (_name, steps, cycle) => {
  expect(stepProblems(steps).filter((problem) => problem.includes("waits for itself"))).toEqual([
    expect.stringContaining(`waits for itself: ${cycle}`),
  ]);
});

test("bad input: an input that no step outputs is a warning, unless it is in context", () => {
  const inputs = "inputs: [{ from: secret }, { from: 'context.a.b[0]' }, { from: parameter.x }]";
  expect(stepProblems(`- { name: a, type: x, ${inputs} }`)).toEqual([
    'warning: steps[0].inputs[0].from: no step outputs "secret", which step "a" waits for',
  ]);
});

test.each([
  ["- { type: x, timeout: 1 hour }", "steps[0].timeout"],
  ["- { type: suspend, properties: { duration: abc } }", "steps[0].properties.duration"],
  ["- { type: step-group, subSteps: [{ type: x, timeout: soon }] }", "steps[0].subSteps[0].timeout"],
  ["- { type: x, retry: { limit: 1, backoff: { duration: -1s } } }", "steps[0].retry.backoff.duration"],
])("bad input: the duration in %s is refused", (steps, at) => {
  expect(stepProblems(steps)).toEqual([expect.stringContaining(`error: ${at}: invalid timeout, use 1s, 1m, 1h or 1d`)]);
});

test("days are durations", () => {
  expect(stepProblems("- { type: x, timeout: 1d }\n- { type: x, timeout: 1d12h }")).toEqual([]);
});

test("bad input: ref and steps exclude each other", () => {
  expect(problemsOf(withSteps("- { type: x }").replace("    steps:", "    ref: w\n    steps:"))).toEqual([
    expect.stringContaining("cannot set steps and ref in workflow at the same time"),
  ]);
});

test("bad input: only step groups have sub-steps, and they do not nest", () => {
  expect(stepProblems("- { type: x, subSteps: [{ type: z }] }")).toEqual([
    "error: steps[0].subSteps: only steps of type step-group can have sub-steps",
  ]);
  expect(stepProblems("- { type: step-group, subSteps: [{ type: step-group }] }")).toEqual([
    "error: steps[0].subSteps[0].type: a step-group cannot contain another step-group",
  ]);
});

test("bad input: a step applies a component that does not exist", () => {
  expect(stepProblems("- { type: apply-component, properties: { component: wbe } }")).toEqual([
    'error: steps[0].properties.component: the application has no component "wbe"',
  ]);
});

test("bad input: an application without components has nothing to deliver", () => {
  const text = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: { name: a }\nspec: { components: [] }\n";
  expect(problemsOf(text)).toEqual([
    "a.yaml:4:21: error: spec.components: components are required, unless a step has stage pre-render",
  ]);
});

test("bad input: a policy without properties is refused, except debug", () => {
  const text = withSteps("- { type: x }").replace(
    "  workflow:",
    "  policies: [{ type: debug }, { name: p, type: topology }]\n  workflow:",
  );
  expect(problemsOf(text)).toEqual([expect.stringContaining('policy "p" of type topology must have properties')]);
});

test("all problems are reported at once, unknown fields included", () => {
  const found = stepProblems("- { name: a, type: x, tiemout: 1s }\n- { name: a, type: 3, timeout: x }");
  expect(found).toEqual([
    'error: steps[0].tiemout: is not a field of this kind (did you mean "timeout"?)',
    expect.stringContaining("error: steps[1].type: "),
    expect.stringContaining("error: steps[1].name: "),
    expect.stringContaining("error: steps[1].timeout: "),
  ]);
});

test("steps that run otherwise than they are written are warnings", () => {
  expect(stepProblems("- { name: a, type: x, dependsOn: [b] }\n- { name: b, type: x }")).toEqual([
    'warning: steps[0].dependsOn[0]: "b" comes later, so neither step starts ' +
      "(set mode.steps to DAG, or change the order)",
  ]);
  expect(stepProblems("- { name: a, type: x }\n- { name: b, type: x, stage: pre-render }")).toEqual([
    "warning: steps[1].stage: pre-render steps run first, whatever their place",
  ]);
});

test("scopes are one warning", () => {
  const text = withSteps("- { type: x }").replaceAll("type: mysql", "type: mysql, scopes: { a: b }");
  expect(problemsOf(text)).toEqual([expect.stringContaining("scopes are ignored")]);
});

const run = (spec: string): string =>
  `apiVersion: core.oam.dev/v1alpha1\nkind: WorkflowRun\nmetadata: { name: r }\nspec: ${spec}\n`;

test("a WorkflowRun has steps or refers to a Workflow", () => {
  expect(problemsOf(run("{ workflowSpec: { steps: [{ type: x }] }, context: { a: 1 } }"))).toEqual([]);
  expect(problemsOf(run("{ workflowRef: w, mode: { steps: DAG } }"))).toEqual([]);
  expect(problemsOf(run("{ workflowRef: w, workflowSpec: { steps: [] } }"))).toHaveLength(1);
  expect(problemsOf(run("{ context: {} }"))).toEqual([
    expect.stringContaining("workflowSpec or workflowRef is required"),
  ]);
});

test("a Workflow has its steps at the top level", () => {
  const text =
    "apiVersion: core.oam.dev/v1alpha1\nkind: Workflow\nmetadata: { name: w }\nsteps: [{ type: x, timeout: soon }]\n";
  expect(problemsOf(text)).toEqual([
    'a.yaml:4:29: error: steps[0].timeout: invalid timeout, use 1s, 1m, 1h or 1d; found "soon"',
  ]);
});

test.each([
  ["core.oam.dev/v1alpha2", "Application", "expected core.oam.dev/v1beta1"],
  ["core.oam.dev/v1beta1", "Aplication", 'did you mean "Application"?'],
])("bad input: %s %s is no document", (apiVersion, kind, message) => {
  expect(problemsOf(`apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`)).toEqual([
    expect.stringContaining(message),
  ]);
});

test("a definition in CUE is not run", () => {
  const source = documents.fromText?.("webservice: {}", "webservice.cue");
  expect(source).toBeDefined();
  if (source === undefined) return;
  expect(documents.read(source).problems.map(formatProblem)).toEqual([
    "webservice.cue:1:1: error: a definition in CUE is not run (use slipway def apply FILE, or slipway def vet FILE)",
  ]);
  expect(documents.fromText?.("a: b", "a.yaml")).toBeUndefined();
});

test("the Workflow that a document names is a reference", () => {
  const named = (text: string) => {
    const yaml = readYaml(text, { file: "a.yaml" });
    return yaml.ok ? yaml.value.documents.flatMap((document) => documents.references(document)) : [];
  };
  const ref = { apiVersion: "core.oam.dev/v1alpha1", kind: "Workflow", name: "w" };
  expect(named(run("{ workflowRef: w }"))).toEqual([{ ref, path: ["spec", "workflowRef"] }]);
  expect(named(seedDocument)).toEqual([]);
});

test("bad input: Windows line ends, tabs in templates, non-ASCII text and anchors are accepted", () => {
  const text = [
    "apiVersion: core.oam.dev/v1beta1",
    "kind: Application",
    "metadata: { name: a }",
    "spec:",
    "  components:",
    '    - { name: web, type: webservice, properties: &shared { image: nginx, cmd: ["grüße, 世界"] } }',
    "    - { name: db, type: webservice, properties: *shared }",
    "---",
    "apiVersion: core.oam.dev/v1beta1",
    "kind: WorkflowStepDefinition",
    "metadata: { name: mine }",
    "spec:",
    "  schematic:",
    "    cue:",
    "      template: |",
    "        parameter: {",
    '        \tgreeting: *"grüße" | string',
    "        }",
  ].join("\r\n");
  expect(problemsOf(text)).toEqual([]);
});
