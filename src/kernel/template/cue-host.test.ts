import { afterAll, beforeAll, expect, test } from "vitest";
import type { Cue } from "./cue.ts";
import { createCue } from "./cue-host.ts";
import type { TemplateHost } from "./template-host.ts";
import { realHost } from "./testing/index.ts";

const packages = {
  "vela/op": `package op
#Apply: {#do: "apply", #provider: "op", value: {...}, cluster: *"" | string, ...}
#ConditionalWait: {#do: "wait", #provider: "builtin", continue: bool, message?: string, ...}
`,
  "vela/kube": `package kube
#Read: {#do: "read", #provider: "kube", $params: {value: {...}}, $returns?: {value?: {...}, err?: string, ...}}
`,
};

let host: TemplateHost;
let cue: Cue;
let asked: string[];

beforeAll(async () => {
  host = await realHost();
  asked = [];
  const templates: Pick<TemplateHost, "ask"> = {
    ask: (question, signal, budgetMs) => {
      asked.push(question);
      return host.ask(question, signal, budgetMs);
    },
  };
  cue = createCue({ templates, packages: async () => packages, budgetMs: 20_000 });
});

afterAll(() => host.close());

const deploy = `import "vela/op"
parameter: {image: string, replicas: *1 | int}
apply: op.#Apply & {
	value: {kind: "Deployment", metadata: name: context.name, spec: {image: parameter.image, replicas: parameter.replicas}}
}
if apply.status.failed > 0 {
	again: op.#Apply & {value: kind: "Job"}
}
wait: op.#ConditionalWait & {continue: apply.status.ready == true}
`;

const task = { text: deploy, parameter: { image: "nginx" }, context: { name: "web" } };

test("the actions of a task come one after another, as results arrive", async () => {
  expect(await cue.next({ ...task, done: [] })).toEqual({
    ok: true,
    value: {
      hasActions: true,
      action: {
        path: "apply",
        provider: "op",
        do: "apply",
        value: {
          value: { kind: "Deployment", metadata: { name: "web" }, spec: { image: "nginx", replicas: 1 } },
          cluster: "",
        },
        incomplete: [],
        attributes: [],
      },
    },
  });
  const failed = await cue.next({ ...task, done: [{ path: "apply", result: { status: { failed: 1 } } }] });
  expect(failed).toMatchObject({ ok: true, value: { action: { path: "again", value: { value: { kind: "Job" } } } } });
  const ready = [{ path: "apply", result: { status: { failed: 0, ready: true } } }];
  const waiting = await cue.next({ ...task, done: ready });
  expect(waiting).toMatchObject({ ok: true, value: { action: { path: "wait", value: { continue: true } } } });
  const end = await cue.next({ ...task, done: [...ready, { path: "wait" }] });
  expect(end).toEqual({ ok: true, value: { hasActions: true } });
});

test("a value that is not there yet is incomplete, not a failure", async () => {
  const waiting = await cue.next({ ...task, done: [{ path: "apply", result: { status: { failed: 0 } } }] });
  expect(waiting).toMatchObject({
    ok: true,
    value: { action: { path: "wait", value: {}, incomplete: [{ path: "wait.continue", line: 9 }] } },
  });
});

test("a parameter of another type is a conflict at its place in the template", async () => {
  expect(await cue.next({ ...task, parameter: { image: 3 }, done: [] })).toMatchObject({
    ok: false,
    error: {
      kind: "template",
      problems: [{ code: "cue-conflict", path: "parameter.image", file: "template", line: 2, column: 20 }],
    },
  });
});

test("inputs replace parts of the parameter, and create what is missing", async () => {
  const text = "parameter: {...}\noutput: parameter";
  const inputs = [
    { path: 'a.b[1].c["x-y"]', value: 1 },
    { path: "image", value: "b" },
    { path: "list[0]", value: { "k/v": null } },
  ];
  const looked = await cue.lookup({ text, parameter: { image: { a: 1 }, list: [1, 2] }, inputs, done: [] }, ["output"]);
  expect(looked).toMatchObject({
    ok: true,
    value: [{ value: { image: "b", list: [{ "k/v": null }, 2], a: { b: [{}, { c: { "x-y": 1 } }] } } }],
  });
});

test("what a path or an expression gives is found over the value of a task", async () => {
  const text = `import "vela/kube"
output: kube.#Read & {$params: value: kind: "Secret"}
_hidden: 1
`;
  const done = [{ path: "output", result: { $returns: { value: { data: "x" }, host: "db" } } }];
  const given = { text, context: { name: "web" }, done };
  const paths = [
    "output.host",
    'context.name + " x"',
    '"literal"',
    "_hidden",
    "output.nope",
    "output.$params.value.kind",
  ];
  const looked = await cue.lookup(given, paths);
  expect(looked.ok && looked.value.map(({ exists, value }) => [exists, value])).toEqual([
    [true, "db"],
    [true, "web x"],
    [true, "literal"],
    [true, 1],
    [false, undefined],
    [true, "Secret"],
  ]);
});

test("a template renders its objects in the order of its text", async () => {
  const text = `parameter: {image: string, cpu?: string}
output: {apiVersion: "apps/v1", kind: "Deployment", spec: image: parameter.image, if parameter.cpu != _|_ {cpu: parameter.cpu}}
outputs: z: {kind: "Service"}
outputs: a: {kind: "Ingress"}
`;
  const rendered = await cue.render({ text, parameter: { image: "nginx" } });
  expect(rendered).toEqual({
    ok: true,
    value: {
      output: { apiVersion: "apps/v1", kind: "Deployment", spec: { image: "nginx" } },
      outputs: { z: { kind: "Service" }, a: { kind: "Ingress" } },
      errs: [],
    },
  });
  expect(rendered.ok && Object.keys(rendered.value.outputs)).toEqual(["z", "a"]);
});

test("a parameter that is missing is named before what needs it", async () => {
  const text = 'parameter: image: string\noutput: {kind: "A", image: parameter.image}';
  expect(await cue.render({ text, parameter: {} })).toMatchObject({
    ok: false,
    error: { problems: [{ path: "parameter.image" }, { path: "output.image" }] },
  });
});

test("a template's own errors are told instead of its objects", async () => {
  const text = 'errs: [if parameter.a > 1 {"a is too large"}]\noutput: {kind: "A", a: parameter.missing}';
  expect(await cue.render({ text, parameter: { a: 2 } })).toEqual({
    ok: true,
    value: { outputs: {}, errs: ["a is too large"] },
  });
});

test("conditions are true or false over their scope", async () => {
  const scope = { status: { "a-b": { failed: true } }, request: { output: { responseCode: 200 } } };
  expect(await cue.evaluateBoolean('status["a-b"].failed && request.output.responseCode == 200', scope)).toEqual({
    ok: true,
    value: true,
  });
  expect(await cue.evaluateBoolean("status.nope.failed", scope)).toMatchObject({
    ok: false,
    error: { problems: [{ message: "undefined field: nope", line: 1, column: 8 }] },
  });
  expect(await cue.evaluateBoolean('"yes"', scope)).toMatchObject({
    ok: false,
    error: { message: "expected true or false, found string" },
  });
});

test("the references of an expression are told with their selectors", async () => {
  const expression =
    'request.output.responseCode == 200 && status["my-step"].failed || len([for x in y if x.z > q {x}]) > 1';
  expect(await cue.references(expression)).toEqual({
    ok: true,
    value: ["request.output.responseCode", 'status["my-step"].failed', "y", "q"],
  });
});

test("an equal question is answered from memory", async () => {
  await cue.next({ ...task, done: [] });
  const before = asked.length;
  const again = await cue.next({ ...task, done: [] });
  expect(again.ok).toBe(true);
  expect(asked.length).toBe(before);
});

test("the sources of packages are sent once to a thread", () => {
  expect(asked.filter((question) => question.includes("package op")).length).toBeLessThanOrEqual(2);
});

test("an integer that JavaScript cannot hold is a failure, never another integer", async () => {
  expect(await cue.render({ text: "output: big: 9007199254740993" })).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining("9007199254740993") },
  });
  expect(await cue.render({ text: "output: big: 9007199254740991" })).toMatchObject({
    ok: true,
    value: { output: { big: 9007199254740991 } },
  });
});

test("a package that nobody knows, and a definition that it does not have, are named", async () => {
  expect(await cue.next({ text: 'import "vela/nope"\na: nope.#A', done: [] })).toMatchObject({
    ok: false,
    error: { message: 'package "vela/nope" is not known (template:1:8)' },
  });
  expect(await cue.next({ text: 'import "vela/op"\na: op.#Nope', done: [] })).toMatchObject({
    ok: false,
    error: { message: 'op.#Nope is not defined in "vela/op" (template:2:7)' },
  });
});

const base = {
  output: {
    kind: "Deployment",
    metadata: { labels: { a: "1", b: "2" } },
    spec: { replicas: 1, template: { spec: { containers: [{ name: "web", image: "nginx" }] } } },
  },
  outputs: { service: { kind: "Service" } },
};

test("17.16 a trait sees what was rendered before it, patches it and adds objects", async () => {
  const text = `patch: spec: template: spec: {
	// +patchKey=name
	containers: [{name: context.output.spec.template.spec.containers[0].name, tty: true}]
}
patchOutputs: service: spec: type: "NodePort"
outputs: hpa: {kind: "HorizontalPodAutoscaler", spec: min: context.output.spec.replicas}
`;
  expect(await cue.render({ text, base })).toEqual({
    ok: true,
    value: {
      output: {
        ...base.output,
        spec: { replicas: 1, template: { spec: { containers: [{ name: "web", image: "nginx", tty: true }] } } },
      },
      outputs: {
        service: { kind: "Service", spec: { type: "NodePort" } },
        hpa: { kind: "HorizontalPodAutoscaler", spec: { min: 1 } },
      },
      errs: [],
    },
  });
});

const jsonPatchTrait = `parameter: operations: [...{...}]
// +patchStrategy=jsonPatch
patch: parameter
`;

test("17.16 json-patch changes the workload as RFC 6902 has it", async () => {
  const operations = [
    { op: "replace", path: "/spec/replicas", value: 4 },
    { op: "remove", path: "/metadata/labels/a" },
  ];
  expect(await cue.render({ text: jsonPatchTrait, parameter: { operations }, base })).toEqual({
    ok: true,
    value: {
      output: { ...base.output, metadata: { labels: { b: "2" } }, spec: { ...base.output.spec, replicas: 4 } },
      outputs: base.outputs,
      errs: [],
    },
  });
});

test("17.16 a JSON patch that does not fit is a failure", async () => {
  const operations = [{ op: "remove", path: "/spec/nope" }];
  expect(await cue.render({ text: jsonPatchTrait, parameter: { operations }, base })).toMatchObject({
    ok: false,
    error: { kind: "template", message: expect.stringContaining("/spec/nope") },
  });
});

test("health is judged over live objects", async () => {
  const context = { output: { status: { readyReplicas: 1 } } };
  const healthPolicy = "isHealth: context.output.status.readyReplicas == parameter.replicas";
  const customStatus = 'message: "ready: \\(context.output.status.readyReplicas)"';
  expect(await cue.health({ healthPolicy, customStatus, parameter: { replicas: 1 }, context })).toEqual({
    ok: true,
    value: { isHealthy: true, message: "ready: 1", details: {} },
  });
  expect(await cue.health({ healthPolicy: "isHealth: context.output.nope.x > 1", context })).toMatchObject({
    ok: true,
    value: { isHealthy: false, message: expect.stringContaining("undefined field: nope") },
  });
});

test("a definition is read, and written as it was read", async () => {
  const text = `import "strings"

"my-trait": {
	type: "trait"
	labels: {}
	annotations: {}
	attributes: podDisruptive: true
}
template: {
	patch: a: strings.ToUpper(parameter.a)
	parameter: {
		// +usage=Any text
		a: string
	}
}
`;
  const read = await cue.readDefinition(text, "my-trait.cue");
  if (!read.ok) return expect.fail(read.error.message);
  expect(read.value).toMatchObject({ name: "my-trait", type: "trait", attributes: { podDisruptive: true } });
  const written = await cue.writeDefinition(read.value);
  if (!written.ok) return expect.fail(written.error.message);
  expect(await cue.readDefinition(written.value)).toEqual(read);
  expect(await cue.schema(read.value.template)).toEqual({
    ok: true,
    value: {
      type: "object",
      properties: { a: { type: "string", description: "Any text" } },
      required: ["a"],
    },
  });
});

test("a text is vetted without data, and upgraded", async () => {
  expect(await cue.vet('import "vela/op"\na: op.#Apply & {value: context.x}')).toEqual({ ok: true, value: undefined });
  expect(await cue.vet("a: b+1\nb: a-1", "my.cue")).toMatchObject({
    ok: false,
    error: { message: "cycle error (my.cue:1:4)" },
  });
  expect(await cue.upgrade("a: [1] + [2]")).toMatchObject({
    ok: true,
    value: { applied: ["line 1: addition of lists became list.Concat"] },
  });
});
