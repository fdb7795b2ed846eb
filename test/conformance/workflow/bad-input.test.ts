// One file, however long, because it is one table.

import { seededRandom } from "#kernel/kit/testing/index.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";
import { silentLog } from "#lib/base/index.ts";
import { leaseElection } from "#kernel/kit/index.ts";
import { type Json, type TestServer, widgetDefinition } from "#kernel/apiserver/testing/index.ts";
import {
  jobs,
  lateClient,
  runActions,
  startWorkflowServer,
  types,
  workflow,
  WorkflowPlane,
  workflows,
} from "./control-plane.ts";

// The table "Bad input" of the specification of Workflow, row by row and in its order, as a client meets it: over HTTPS. Of the row on numbers
// only the steps are here, because forEach is refused by name in this version. Words and places in files are document.test.ts's.

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });
const pod = (more: object = {}) => ({
  restartPolicy: "Never",
  containers: [{ name: "main", image: "busybox" }],
  ...more,
});
/** A Job, with what is wrong with its spec, its Pod, its labels and those of its Pod. */
const job = (spec: object = {}, podSpec: object = {}, labels: object = {}, podLabels: object = {}) => ({
  jobTemplate: {
    metadata: { labels },
    spec: { template: { metadata: { labels: podLabels }, spec: pod(podSpec) }, ...spec },
  },
});

/** A cause of a refusal: what kind of problem, where, in which words. */
type Cause = readonly [reason: "Invalid" | "Required" | "Forbidden", field: string, message: string];

describe("refused when it is written", () => {
  let api: TestServer;
  let there: Json;
  beforeAll(async () => {
    api = await startWorkflowServer();
    there = (await api.ask("POST", workflows, { body: workflow("there", { steps: { old: box } }) })).json;
  });
  afterAll(() => api.close());

  /** By every way a client can write it: a new object twice, one that is there three times. */
  function writes(spec: object) {
    const named = workflow("there", spec);
    const bytes = (body: unknown, headers: Readonly<Record<string, string>>) => ({
      bytes: JSON.stringify(body),
      headers,
    });
    return [
      ["POST", `${workflows}${types.strict}`, { body: workflow("new", spec) }],
      ["PATCH", `${workflows}/new?fieldManager=test&force=true`, bytes(workflow("new", spec), types.apply)],
      ["PUT", `${workflows}/there${types.strict}`, { body: { ...named, metadata: there["metadata"] } }],
      ["PATCH", `${workflows}/there`, bytes([{ op: "replace", path: "/spec", value: spec }], types.json)],
      ["PATCH", `${workflows}/there`, bytes({ spec: mergeOf(spec) }, types.merge)],
    ] as const;
  }

  /** A merge patch that leaves nothing of the step that is there. */
  function mergeOf(spec: object): object {
    const { steps, ...rest } = spec as { readonly steps?: object };
    return { ...rest, steps: { old: null, ...steps } };
  }

  /** What may not change at all is told as well where it would. */
  const unchangeable = ["selector", "params", "arguments"] as const;

  /** The spec is refused, whoever writes it, with all of these causes and no others, and nothing is stored. */
  async function refused(spec: object, causes: readonly Cause[]): Promise<void> {
    const before = await api.ask("GET", workflows);
    for (const [method, path, ask] of writes(spec)) {
      const answer = await api.ask(method, path, ask);
      const isNew = path.startsWith(`${workflows}/new`) || method === "POST";
      const immutable = unchangeable.filter((field) => !isNew && field in spec);
      const told = [
        ...immutable.map((field) => ["Forbidden", `spec.${field}`, "cannot be changed"] as const),
        ...causes,
      ].map(([reason, field, message]) => ({ reason: `FieldValue${reason}`, field, message }));
      const found = answer.json["details"]?.["causes"] as unknown as typeof told;
      expect(found, `${method} ${path}: ${answer.text}`).toHaveLength(told.length);
      expect(found).toEqual(expect.arrayContaining(told));
      const texts = found.map(({ field, message }) => `${field}: ${message}`);
      const name = isNew ? "new" : "there";
      expect(answer.json).toMatchObject({
        kind: "Status",
        status: "Failure",
        code: 422,
        reason: "Invalid",
        message: `Workflow.slipway.dev "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}`,
        details: { group: "slipway.dev", kind: "Workflow", name },
      });
      expect(answer.status).toBe(422);
    }
    // Nothing of the list is new, not even its version, which is that of the whole store.
    expect((await api.ask("GET", workflows)).text).toBe(before.text);
    expect((await api.ask("GET", `${workflows}/new`)).status).toBe(404);
  }

  const exactlyOne = (found: string): string =>
    `exactly one of jobTemplate, externalRef, template, workflow, container, wait, approval is required, found ${found}`;

  test("no steps / empty step / two union members", async () => {
    await refused({}, [["Required", "spec.steps", "at least one step is required"]]);
    await refused({ steps: {} }, [["Required", "spec.steps", "at least one step is required"]]);
    await refused({ finally: { last: box } }, [["Required", "spec.steps", "at least one step is required"]]);
    await refused({ steps: { x: {}, two: { ...box, wait: { seconds: 1 } }, good: box }, finally: { y: {} } }, [
      ["Invalid", "spec.steps.x", exactlyOne("none")],
      ["Invalid", "spec.steps.two", exactlyOne("container and wait")],
      ["Invalid", "spec.finally.y", exactlyOne("none")],
    ]);
  });

  test("cycle", async () => {
    const circle = { three: after("five"), four: after("three"), five: after("four") };
    await refused({ steps: circle }, [["Invalid", "spec.steps", "cycle: five -> three -> four -> five"]]);
    const more = { a: after("b"), b: after("a"), self: after("self"), good: box };
    await refused({ steps: { ...circle, ...more }, finally: { f: after("g"), g: after("f") } }, [
      ["Invalid", "spec.steps", "cycle: five -> three -> four -> five"],
      ["Invalid", "spec.steps", "cycle: a -> b -> a"],
      ["Invalid", "spec.steps", "cycle: self -> self"],
      ["Invalid", "spec.finally", "cycle: f -> g -> f"],
    ]);
  });

  test("unknown dependency", async () => {
    await refused({ steps: { two: after("thre", "three", "elsewhere"), three: box }, finally: { f: after("two") } }, [
      ["Invalid", "spec.steps.two.dependencies[0]", 'no step "thre", did you mean "three"'],
      ["Invalid", "spec.steps.two.dependencies[2]", 'no step "elsewhere"'],
      ["Invalid", "spec.finally.f.dependencies[0]", 'no step "two"'],
    ]);
  });

  test("old draft shapes `dependencies: {dependencyIDs: []}`, `jobTemplate.template`", async () => {
    const list =
      "must be a list of step keys, such as [one, two]; an object with dependencyIDs is the shape of an early draft";
    const inside =
      "must stand inside spec: jobTemplate holds metadata and spec; a bare JobSpec is the shape of an early draft";
    const spec = {
      steps: {
        none: { ...box, dependencies: { dependencyIDs: [] } },
        one: { ...box, dependencies: { dependencyIDs: ["none"] } },
        bare: { jobTemplate: { template: { spec: pod() } } },
        both: { jobTemplate: { template: { spec: pod() }, spec: { template: { spec: pod() } } } },
      },
    };
    await refused(spec, [
      ["Invalid", "spec.steps.none.dependencies", list],
      ["Invalid", "spec.steps.one.dependencies", list],
      ["Invalid", "spec.steps.bare.jobTemplate.template", inside],
      ["Invalid", "spec.steps.both.jobTemplate.template", inside],
    ]);
  });

  test.each([-42, 0, 1.5, "60", true])("`activeDeadlineSeconds: -42`, 0, fraction: %j", async (value) => {
    const message = `must be a positive integer, found ${JSON.stringify(value)}`;
    await refused({ activeDeadlineSeconds: value, steps: { a: { ...box, timeoutSeconds: value } } }, [
      ["Invalid", "spec.activeDeadlineSeconds", message],
      ["Invalid", "spec.steps.a.timeoutSeconds", message],
    ]);
  });

  test("Job with `selector`, `manualSelector`, restartPolicy Always", async () => {
    const absent = "must be absent: the Job selects its own pods";
    const at = (step: string) => `spec.steps.${step}.jobTemplate.spec`;
    const selector = { matchLabels: { a: "b" } };
    const spec = {
      steps: {
        a: job({ selector, manualSelector: true }, { restartPolicy: "Always" }),
        b: { jobTemplate: { spec: { template: { spec: { containers: [{ name: "main", image: "busybox" }] } } } } },
        c: job({ manualSelector: false }),
      },
    };
    await refused(spec, [
      ["Forbidden", `${at("a")}.selector`, absent],
      ["Forbidden", `${at("a")}.manualSelector`, absent],
      ["Invalid", `${at("a")}.template.spec.restartPolicy`, 'must be Never or OnFailure, found "Always"'],
      [
        "Invalid",
        `${at("b")}.template.spec.restartPolicy`,
        "must be Never or OnFailure, found nothing, which means Always",
      ],
      ["Forbidden", `${at("c")}.manualSelector`, absent],
    ]);
  });

  test("key `a.b`, empty, 64 characters", async () => {
    const long = "x".repeat(64);
    const expected = (key: string): string =>
      `expected a key of 1 to 63 letters, digits, "-" and "_" that begins and ends with a letter or digit, found "${key}"`;
    const good = { ["y".repeat(63)]: box, "A-b_9": box };
    await refused({ steps: { "a.b": box, "": box, [long]: box, ...good }, finally: { "c.d": box } }, [
      ["Invalid", "spec.steps[a.b]", expected("a.b")],
      ["Invalid", "spec.steps[]", expected("")],
      ["Invalid", `spec.steps.${long}`, expected(long)],
      ["Invalid", "spec.finally[c.d]", expected("c.d")],
    ]);
  });

  test("selector label equal to a template label with another value", async () => {
    const object = { template: { apiVersion: "v1", kind: "ConfigMap", metadata: { labels: { app: "four" } } } };
    const spec = {
      selector: { matchLabels: { app: "one", other: "x" } },
      steps: {
        a: job({}, {}, { app: "two" }),
        b: job({}, {}, {}, { app: "three" }),
        c: object,
        d: job({}, {}, { app: "one" }),
      },
    };
    const told = (value: string) => `is "${value}", but spec.selector puts "one" on every job`;
    await refused(spec, [
      ["Invalid", "spec.steps.a.jobTemplate.metadata.labels.app", told("two")],
      ["Invalid", "spec.steps.c.template.metadata.labels.app", told("four")],
    ]);
  });

  test("argument of wrong type, missing required, unknown", async () => {
    const spec = {
      params: [
        { name: "count", type: "integer" },
        { name: "name", required: true },
        { name: "size", enum: ["s", "m"] },
      ],
      arguments: { count: "many", cuont: 1, size: "l" },
      steps: { a: box },
    };
    await refused(spec, [
      ["Invalid", "spec.arguments.count", 'expected an integer, found "many"'],
      ["Required", "spec.arguments.name", 'the parameter "name" is required'],
      ["Invalid", "spec.arguments.size", 'expected one of "s", "m", found "l"'],
      ["Invalid", "spec.arguments.cuont", 'no parameter "cuont" is declared (did you mean "count"?)'],
    ]);
  });

  test("secret parameters: an argument that is no reference, a declaration with demands, another place than a variable", async () => {
    const secret = { name: "token", secret: true };
    const form = "{secretKeyRef: {name: SECRET, key: KEY}}";
    const spec = {
      params: [secret, { name: "other", secret: true, pattern: "x", type: "object" }, { name: "none", secret: true }],
      arguments: { token: "hunter22", other: { secretKeyRef: { name: "a", key: "b", value: "hunter22" } } },
      steps: { a: { container: { image: "busybox", args: ["use ${{ params.token }}"] }, when: "size(params) > 0" } },
    };
    const places =
      "stands only as a whole, as valueFrom of a container's variable or as an argument for a secret parameter";
    await refused(spec, [
      ["Forbidden", "spec.params[1].type", "a secret parameter is a text: its type must be absent or string"],
      ["Forbidden", "spec.params[1].pattern", "the value of a secret parameter is not read"],
      [
        "Invalid",
        "spec.arguments.token",
        `expected a key of a Secret, ${form}: the parameter is secret, and its value is never written down`,
      ],
      ["Invalid", "spec.arguments.other", "expected name, key and optional in secretKeyRef, and nothing else"],
      ["Required", "spec.arguments.none", 'the parameter "none" is secret: a key of a Secret is required'],
      [
        "Invalid",
        "spec.steps.a.when",
        `column 6: params holds secret parameters (token, other, none), each of which ${places}`,
      ],
      ["Invalid", "spec.steps.a.container.args[0]", `column 9: the secret parameter "token" ${places}`],
    ]);
  });

  test("expression syntax error, unknown name", async () => {
    const args = ["${{ params.regoin }}", "${{ 1 + }}", "for ${{ nobody }}"];
    const spec = {
      params: [{ name: "region" }],
      steps: {
        a: { container: { image: "busybox", args }, when: "success( && true" },
        b: { ...box, when: 'steps.a.phase == "x"', outputs: { o: { expression: "result." } } },
        c: { ...box, retry: { limit: 1, expression: "exitcode == 1" } },
        d: { wait: { until: "now()" } },
        e: { ...after("a"), when: 'steps.a.phaze == "x"', completion: { success: "objekt.x" } },
      },
      outputs: { x: "steps.nowhere.outputs.o" },
    };
    await refused(spec, [
      ["Invalid", "spec.steps.a.container.args[0]", 'column 5: no parameter "regoin", did you mean "region"'],
      ["Invalid", "spec.steps.a.container.args[1]", "column 9: unexpected token: EOF"],
      ["Invalid", "spec.steps.a.container.args[2]", 'column 9: there is no variable "nobody"'],
      ["Invalid", "spec.steps.a.when", "column 10: unexpected token: AND"],
      ["Invalid", "spec.steps.b.when", 'column 1: step "b" does not depend on "a", so its results are not known'],
      ["Invalid", "spec.steps.b.outputs.o.expression", "column 8: expected IDENTIFIER, got EOF"],
      [
        "Invalid",
        "spec.steps.c.retry.expression",
        'column 1: there is no variable "exitcode"; did you mean "exitCode"?',
      ],
      ["Invalid", "spec.steps.d.wait.until", 'column 1: there is no function "now"'],
      ["Invalid", "spec.steps.e.when", 'column 1: no step field "phaze", did you mean "phase"'],
      ["Invalid", "spec.steps.e.completion.success", 'column 1: there is no variable "objekt"; did you mean "object"?'],
      ["Invalid", "spec.outputs.x", 'column 1: no step "nowhere"'],
    ]);
  });

  test("1,001 steps", async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, box]));
    const told: Cause = ["Invalid", "spec.steps", "expected at most 1000 steps, found 1001"];
    await refused({ steps: many(1_001) }, [told]);
    await refused({ steps: many(1_000), finally: { last: box } }, [told]);
    const allowed = await api.ask("POST", `${workflows}?dryRun=All`, { body: workflow("new", { steps: many(1_000) }) });
    expect(allowed.status).toBe(201);
  });

  test("`externalRef` without name, or other namespace", async () => {
    const reference = { apiVersion: "v1", kind: "ConfigMap", name: "c" };
    const { name: _left, ...nameless } = reference;
    const spec = {
      steps: {
        a: { externalRef: nameless },
        b: { externalRef: { ...reference, namespace: "kube-system" } },
        c: { externalRef: { ...reference, namespace: "default" } },
        d: { externalRef: { name: "c" } },
      },
    };
    const needed = "a reference needs apiVersion, kind and name";
    const foreign = 'must be the workflow\'s own namespace "default", found "kube-system"';
    await refused(spec, [
      ["Required", "spec.steps.a.externalRef.name", needed],
      ["Invalid", "spec.steps.b.externalRef.namespace", foreign],
      ["Required", "spec.steps.d.externalRef.apiVersion", needed],
      ["Required", "spec.steps.d.externalRef.kind", needed],
    ]);
  });

  describe("everything at once", () => {
    const wrong = {
      activeDeadlineSeconds: -42,
      failureStrategy: "Panic",
      params: [{ name: "n", required: true }],
      arguments: { m: 1 },
      steps: {
        x: {},
        "a.b": box,
        two: after("thre"),
        three: { ...after("four"), when: "1 +" },
        four: after("three"),
        old: { ...box, dependencies: { dependencyIDs: [] } },
        ref: { externalRef: { apiVersion: "v1", kind: "ConfigMap" } },
        job: job({ selector: {} }, { restartPolicy: "Always" }),
      },
    };
    const fields = [
      "spec.activeDeadlineSeconds",
      "spec.arguments.m",
      "spec.arguments.n",
      "spec.failureStrategy",
      "spec.steps",
      "spec.steps.job.jobTemplate.spec.selector",
      "spec.steps.job.jobTemplate.spec.template.spec.restartPolicy",
      "spec.steps.old.dependencies",
      "spec.steps.ref.externalRef.name",
      "spec.steps.three.when",
      "spec.steps.two.dependencies[0]",
      "spec.steps.x",
      "spec.steps[a.b]",
    ];
    let line: CommandLine;
    beforeAll(async () => {
      line = await commandLine();
    });
    afterAll(() => line.close());

    test("one answer has a cause for each row, and `slipway lint` says the same with line and column", async () => {
      const answer = await api.ask("POST", workflows, { body: workflow("new", wrong) });
      const causes = answer.json["details"]?.["causes"] as unknown as readonly Readonly<Record<string, string>>[];
      expect(causes.map(({ field = "" }) => field).sort()).toEqual(fields);
      await writeFile(join(line.directory, "w.json"), JSON.stringify(workflow("new", wrong), null, 2));
      const { code, out } = await line.run("lint", "w.json");
      expect(code).toBe(2);
      // A document without its arguments may be given them by whoever runs it.
      const errors = out.split("\n").filter((text) => text.includes(": error: "));
      const isGivenLater = (field: string | undefined) => field === "spec.arguments.n";
      expect(errors.map((text) => text.replace(/^w\.json:\d+:\d+: error: /, "")).sort()).toEqual(
        causes.flatMap(({ field, message }) => (isGivenLater(field) ? [] : [`${field}: ${message}`])).sort(),
      );
    });
  });
});

describe("found when it runs", () => {
  let plane: WorkflowPlane;
  afterEach(() => plane.close());

  test("expression runtime error", async () => {
    plane = await WorkflowPlane.start();
    await plane.create("wf", {
      params: [
        { name: "list", type: "array", default: [1] },
        { name: "zero", type: "integer", default: 0 },
      ],
      steps: {
        gate: { ...box, when: "params.list[5] == 1" },
        type: { ...box, when: "params.list[0]" },
        body: { container: { image: "busybox", args: ["-n", "${{ 1 / params.zero }}"] } },
        made: { template: { apiVersion: "v1", kind: "ConfigMap", data: { a: "${{ params.list[9] }}" } } },
        ref: { externalRef: { apiVersion: "v1", kind: "ConfigMap", name: "${{ params.list[3] }}" } },
        until: { wait: { until: "params.list[7]" } },
        output: { ...box, outputs: { o: { expression: "1 / params.zero" } } },
        later: after("gate"),
        good: box,
      },
    });
    await plane.endPods();
    const failed = "Failed/ExpressionError";
    expect(await plane.phases("wf")).toEqual({
      gate: failed,
      type: failed,
      body: failed,
      made: failed,
      ref: failed,
      until: failed,
      output: failed,
      later: "Skipped/DependencyFailed",
      good: "Succeeded",
    });
    const { statuses } = await plane.status("wf");
    expect(statuses).toMatchObject({
      gate: { message: "no such key: index out of bounds, index 5 >= size 1" },
      type: { message: "expected true or false, found 1" },
      body: { message: "args[1]: 1 / params.zero: division by zero" },
      output: { message: 'output "o": division by zero' },
    });
    expect(await plane.status("wf")).toMatchObject({ phase: "Failed" });
    // Nothing was made of what could not be computed.
    const steps = (await plane.list(jobs)).map((made) => String(made["metadata"]?.["labels"]?.["slipway.dev/step"]));
    expect(steps.sort()).toEqual(["good", "output"]);
  });

  test("status in a create request", async () => {
    plane = await WorkflowPlane.bare();
    const done = { phase: "Succeeded", complete: true, attempt: 1 };
    const status = {
      phase: "Succeeded",
      conditions: [{ type: "Complete", status: "True" }],
      startTime: "2020-01-01T00:00:00Z",
      completionTime: "2020-01-01T00:00:00Z",
      statuses: { a: done, ghost: done },
    };
    const sent = (name: string) => workflow(name, { steps: { a: box } }, { status });
    const answers = [
      await plane.api.ask("POST", workflows, { body: sent("posted") }),
      await plane.api.ask("PATCH", `${workflows}/applied?fieldManager=test`, {
        bytes: JSON.stringify(sent("applied")),
        headers: types.apply,
      }),
    ];
    for (const answer of answers) {
      expect(answer.status, answer.text).toBe(201);
      expect(answer.json).not.toHaveProperty("status");
    }
    for (const name of ["posted", "applied"])
      expect(await plane.get(`${workflows}/${name}`)).not.toHaveProperty("status");
    // The controllers see a workflow that has not begun, run it, and delete nothing.
    await plane.control();
    await plane.settle();
    for (const name of ["posted", "applied"]) {
      expect(await plane.phases(name)).toEqual({ a: "Starting" });
      expect(await plane.status(name)).toMatchObject({ phase: "Running", startTime: "2026-01-01T00:00:00.000Z" });
    }
    await plane.endPods();
    for (const name of ["posted", "applied"]) expect(await plane.status(name)).toMatchObject({ phase: "Succeeded" });
  });

  test("workflow name longer than 63", async () => {
    plane = await WorkflowPlane.start();
    const start = "n".repeat(63);
    const names = [`${start}a`, `${start}b`, "x".repeat(253), `dotted.${"o".repeat(63)}`];
    const step = "s".repeat(63);
    for (const name of names) await plane.create(name, { steps: { [step]: box, A_b: box } });
    const created = await plane.list(jobs);
    const namesOfJobs = created.map((made) => String(made["metadata"]?.["name"]));
    expect(new Set(namesOfJobs).size).toBe(2 * names.length);
    for (const name of namesOfJobs) expect(name).toMatch(/^(?=.{1,63}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/);
    const labels = created.map((made) => made["metadata"]?.["labels"] as unknown as Readonly<Record<string, string>>);
    const values = new Set(labels.map((all) => all["slipway.dev/workflow"] ?? ""));
    expect(values.size).toBe(names.length);
    for (const value of values) {
      expect(value).toMatch(/^[a-z0-9.]{52}-[a-z0-9]{10}$/);
      expect(names.some((name) => name.startsWith(value.slice(0, 52)))).toBe(true);
      // What is cut is found as it is told: by the label of the one workflow.
      const selected = await plane.list(`${jobs}?labelSelector=slipway.dev/workflow=${value}`);
      expect(selected).toHaveLength(2);
    }
    expect(new Set(labels.map((all) => all["slipway.dev/step"]))).toEqual(new Set([step, "A_b"]));
    await plane.endPods();
    for (const name of names) expect(await plane.status(name)).toMatchObject({ phase: "Succeeded" });
    const tooLong = await plane.api.ask("POST", workflows, { body: workflow("x".repeat(254), { steps: { a: box } }) });
    expect(tooLong.status).toBe(422);
  });

  test("reference to a kind that does not exist", async () => {
    plane = await WorkflowPlane.start();
    const widget = { apiVersion: "demo.example.org/v1", kind: "Widget" };
    const ghost = { apiVersion: "nobody.example/v1", kind: "Ghost" };
    const answer = await plane.create("wf", {
      steps: {
        ref: { externalRef: { ...widget, name: "w" } },
        made: { template: ghost },
        slip: { template: { apiVersion: "batch/v1", kind: "Jbo" } },
      },
    });
    const warnings = String(answer.headers["warning"]);
    for (const text of [
      "spec.steps.ref.externalRef.kind: the server serves no Widget in demo.example.org/v1: the step waits until it does",
      "spec.steps.made.template.kind: the server serves no Ghost in nobody.example/v1: the step waits until it does",
      'spec.steps.slip.template.kind: the server serves no Jbo in batch/v1: the step waits until it does (did you mean \\"Job\\"?)',
    ])
      expect(warnings).toContain(`299 - "${text}"`);
    const waiting = "Waiting/KindNotFound";
    expect(await plane.phases("wf")).toEqual({ ref: waiting, made: waiting, slip: waiting });
    expect(await plane.status("wf")).toMatchObject({
      statuses: { ref: { message: "the server does not serve Widget in demo.example.org/v1" } },
    });
    // The kind may come later, and so may the object.
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    expect((await plane.api.ask("POST", definitions, { body: widgetDefinition })).status).toBe(201);
    await plane.pass(120_000);
    expect(await plane.phases("wf")).toEqual({ ref: "Waiting/ReferenceNotFound", made: waiting, slip: waiting });
    await plane.pass(600_000);
    const given = "Failed/KindNotFound";
    expect(await plane.phases("wf")).toEqual({ ref: "Waiting/ReferenceNotFound", made: given, slip: given });
  });

  test("RunAction on a finished run, unknown step, no right", async () => {
    plane = await WorkflowPlane.start();
    await plane.create("wf", { steps: { build: box, later: after("build") } });
    const refusal = (message: string) => ({ phase: "Refused", by: "slipway:admin", message });
    expect(await plane.act("unknown", { action: "skip", step: "biuld" })).toMatchObject(
      refusal('there is no step "biuld", did you mean "build"'),
    );
    expect(await plane.act("unknown-retry", { action: "retry", steps: ["build", "elsewhere"] })).toMatchObject(
      refusal('there is no step "elsewhere"'),
    );
    expect(await plane.act("early", { action: "retry" })).toMatchObject(
      refusal("the workflow is Running; only a finished one can be retried"),
    );
    // Who may not make actions is told so by the server, and nothing happens.
    const target = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "wf" };
    const body = {
      apiVersion: target.apiVersion,
      kind: "RunAction",
      metadata: { name: "anna" },
      spec: { target, action: "cancel" },
    };
    const forbidden = await plane.api.ask("POST", runActions, { body, headers: { "Impersonate-User": "anna" } });
    expect(forbidden.status).toBe(403);
    expect(forbidden.json).toMatchObject({
      kind: "Status",
      reason: "Forbidden",
      message:
        'runactions.slipway.dev is forbidden: User "anna" cannot create resource "runactions" in API group "slipway.dev" in the namespace "default"',
    });
    await plane.settle();
    expect(await plane.status("wf")).toMatchObject({ phase: "Running" });
    await plane.endPods();
    await plane.endPods();
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
    const before = (await plane.api.ask("GET", `${workflows}/wf`)).text;
    for (const action of ["cancel", "suspend", "resume"])
      expect(await plane.act(`${action}-late`, { action })).toMatchObject(
        refusal("the workflow is Succeeded; only retry is possible"),
      );
    expect(await plane.act("skip-late", { action: "skip", step: "later" })).toMatchObject(
      refusal("the workflow is Succeeded; only retry is possible"),
    );
    expect(await plane.act("retry-late", { action: "retry" })).toMatchObject(
      refusal("no step failed; choose the steps to re-run with --step"),
    );
    expect((await plane.api.ask("GET", `${workflows}/wf`)).text).toBe(before);
  });

  // Processes that are killed and followed are test/crash/controllers.test.ts; a whole graph under two leaders is reconcile.test.ts.
  describe("two controllers", () => {
    const elected = (identity: string) => {
      const { api, clock } = plane;
      const client = api.server.client();
      const place = { namespace: "default", name: "controllers" };
      return leaseElection({ client, clock, log: silentLog, random: seededRandom(1), identity, ...place });
    };

    test("one leads, and the other does nothing until it does", async () => {
      plane = await WorkflowPlane.bare();
      const first = await plane.control({ election: elected("first") });
      await plane.pass(3_000);
      const second = await plane.control({ election: elected("second") });
      await plane.pass(3_000);
      expect([first.manager.phase, second.manager.phase]).toEqual(["running", "waiting for leadership"]);
      await plane.create("wf", { steps: { a: box, b: after("a") } });
      expect(await plane.phases("wf")).toEqual({ a: "Starting" });
      await first.close();
      await plane.endPods();
      await plane.pass(30_000);
      expect(second.manager.phase).toBe("running");
      await plane.endPods();
      expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
      expect(await plane.list(jobs)).toHaveLength(2);
    });

    test("the writes of one that leads no longer conflict and do nothing", async () => {
      plane = await WorkflowPlane.bare();
      const late = lateClient(plane.api.server.client());
      await plane.control({ client: late.client });
      await plane.create("wf", { steps: { a: box } });
      expect(await plane.phases("wf")).toEqual({});
      await plane.control();
      await plane.settle();
      expect(await plane.phases("wf")).toEqual({ a: "Starting" });
      await plane.endPods();
      const { text: before } = await plane.api.ask("GET", `${workflows}/wf`);
      expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
      late.go();
      await plane.pass(60_000);
      expect(late.told()).toEqual(["updateStatus Workflow: Conflict"]);
      expect((await plane.api.ask("GET", `${workflows}/wf`)).text).toBe(before);
      expect(await plane.list(jobs)).toHaveLength(1);
    });
  });

  describe("clock jumps", () => {
    const hour = 3_600_000;
    const uids = async () => (await plane.list(jobs)).map((made) => String(made["metadata"]?.["uid"]));
    const startedAt = "2026-01-01T00:00:00.000Z";

    test("back: no duplicate runs, and the deadline is where it was on the clock", async () => {
      plane = await WorkflowPlane.start();
      await plane.create("wf", { activeDeadlineSeconds: 60, steps: { a: box, b: after("a") } });
      const before = await uids();
      plane.clock.jump(plane.clock.now() - hour);
      await plane.pass(120_000);
      expect(await plane.status("wf")).toMatchObject({ phase: "Running", startTime: startedAt });
      expect(await plane.phases("wf")).toEqual({ a: "Running" });
      expect(await uids()).toEqual(before);
      await plane.pass(hour - 90_000);
      expect(await plane.status("wf")).toMatchObject({ phase: "Running" });
      await plane.pass(60_000);
      expect(await plane.status("wf")).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
    });

    test("forth: no duplicate runs, and the deadline is past when the clock says so", async () => {
      plane = await WorkflowPlane.start();
      await plane.create("wf", { activeDeadlineSeconds: 2 * 3_600, steps: { a: box, b: after("a") } });
      const before = await uids();
      plane.clock.jump(plane.clock.now() + hour);
      await plane.pass(60_000);
      expect(await plane.phases("wf")).toEqual({ a: "Running" });
      expect(await uids()).toEqual(before);
      plane.clock.jump(plane.clock.now() + hour);
      // Within ten minutes every workflow is looked at, whatever its timers say.
      await plane.pass(11 * 60_000);
      expect(await plane.status("wf")).toMatchObject({ phase: "Failed", reason: "DeadlineExceeded" });
      expect(await plane.phases("wf")).toMatchObject({ b: "Canceled/DeadlineExceeded" });
    });
  });
});
