import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type JsonObject, systemClock } from "#lib/base/index.ts";
import type { EphemeralControlPlane } from "#app/server/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { startableNames } from "../stored-runs.ts";
import { type CommandLine, commandLine, type Finished } from "#test/support/command-line.ts";

// Command lines against a real control plane in this process: its server, its controllers, and steps that need no process. One file for all
// commands, because they share it: to start it takes longer than most of them.

let plane: EphemeralControlPlane;
let client: ApiClient;
let cli: CommandLine;

beforeAll(async () => {
  const { startEphemeral } = await import("#app/server/index.ts");
  const workingDirectory = tmpdir();
  plane = await startEphemeral({
    clock: systemClock,
    version: "test",
    level: "error",
    workingDirectory,
    environment: {},
    signal: new AbortController().signal,
  });
  ({ client } = plane);
  // `run` looks for a running control plane itself; this is what tells it that there is one.
  cli = await commandLine({ client, variables: { SLIPWAY_KUBECONFIG: "the-test" } });
  for (const name of ["one", "two"])
    await client.create(ConfigMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default", labels: { which: name } },
    });
}, 60_000);

afterAll(async () => {
  await cli.close();
  await plane.close();
}, 60_000);

async function must(...words: readonly string[]): Promise<Finished> {
  const done = await cli.run(...words);
  if (done.code !== 0) throw new Error(`slipway ${words.join(" ")} ended with ${done.code}\n${done.err}${done.out}`);
  return done;
}

/** A step that makes a ConfigMap, which is done as soon as it is there. */
const make = (more: JsonObject = {}): JsonObject => ({ template: { apiVersion: "v1", kind: "ConfigMap" }, ...more });
const wait = (more: JsonObject = {}): JsonObject => ({ wait: { seconds: 600 }, ...more });
const fails = (more: JsonObject = {}): JsonObject => ({
  template: { apiVersion: "v1", kind: "ConfigMap", data: { n: "${{ fromJson('no json') }}" } },
  ...more,
});

/** Writes a workflow document and returns its name in the directory. */
async function file(name: string, steps: JsonObject, spec: JsonObject = {}): Promise<string> {
  const object = { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec: { ...spec, steps } };
  await writeFile(join(cli.directory, `${name}.json`), JSON.stringify(object));
  return `${name}.json`;
}

/** Starts a run that stays, and waits until its phase is that. */
async function begin(name: string, steps: JsonObject, phase = "Running", spec: JsonObject = {}): Promise<void> {
  await must("run", "--detach", await file(name, steps, spec));
  await until(name, phase);
}

async function until(name: string, phase: string): Promise<void> {
  const look = async () => (await must("get", "wf", name, "-o", "jsonpath={.status.phase}")).out.trim();
  // Also in hooks, where `expect.poll` is not to be had.
  await vi.waitFor(async () => expect(await look()).toBe(phase), { timeout: 40_000, interval: 5 });
}

describe("run", () => {
  test("0: every step is told as it ends, on stderr; stdout stays empty", async () => {
    const { code, out, err } = await cli.run(
      "run",
      await file("well", { a: make(), b: make({ dependencies: ["a"] }) }),
    );
    expect(code, err).toBe(0);
    expect(out).toBe("");
    expect(err.split("\n")[0]).toBe("slipway: on the control plane of the-test, which decides where steps run");
    expect(err).toMatch(/\] a: Succeeded in /);
    expect(err.trimEnd()).toMatch(/\] well: Succeeded in [\d.]+s$/);
  });

  test("1: why a step failed is the last thing on the screen", async () => {
    const { code, err } = await cli.run("run", await file("badly", { a: fails() }));
    expect(code).toBe(1);
    expect(err).toContain("a: Failed");
    expect(err).toContain("ExpressionError");
  });

  test("2: nothing is started when one of several documents is wrong", async () => {
    const good = await file("innocent", { a: make() });
    const { code, err } = await cli.run("run", good, await file("guilty", { a: {} }), "-p", "junk");
    expect(code).toBe(2);
    expect(err).toContain('expected --param name=value, found "junk"');
    expect(err).toContain("guilty.json:");
    expect((await cli.run("get", "wf", "innocent")).code).toBe(1);
  });

  test("2: the server refuses a document that only another one would carry out", async () => {
    const spec = {
      hostIPC: true,
      restartPolicy: "Never",
      containers: [{ name: "main", image: "i", command: ["true"] }],
    };
    const done = await cli.run("run", await file("not-here", { a: { jobTemplate: { spec: { template: { spec } } } } }));
    expect(done).toMatchObject({ code: 2, err: expect.stringContaining("hostIPC: Forbidden") });
  });

  test("4: past its deadline", async () => {
    const { code, err } = await cli.run("run", await file("late", { a: wait() }, { activeDeadlineSeconds: 1 }));
    expect(code, err).toBe(4);
  });

  test("-o json prints the object at its end", async () => {
    const { code, out } = await cli.run("run", await file("printed", { a: make() }), "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ kind: "Workflow", status: { phase: "Succeeded" } });
  });

  test("several runs go on side by side, and the worst of them decides", async () => {
    const files = [await file("first", { a: make() }), await file("second", { a: fails() })];
    const { code, err } = await cli.run("run", ...files);
    expect(code).toBe(1);
    expect(err).toContain("first: Succeeded");
    expect(err).toContain("second: Failed");
  });

  test("other objects of the documents are there before the runs, and are brought up to date", async () => {
    const path = join(cli.directory, "with-map.yaml");
    const map = (value: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {value: "${value}"}\n`;
    const run = `---\napiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: reads}\nspec:\n  activeDeadlineSeconds: 60\n  steps: {a: {externalRef: {apiVersion: v1, kind: ConfigMap, name: given}}}\n`;
    for (const value of ["old", "new"]) {
      await writeFile(path, map(value) + run);
      const { code, err } = await cli.run("run", path);
      expect(code, err).toBe(0);
      expect((await must("get", "cm", "given", "-o", "jsonpath={.data.value}")).out).toBe(`${value}\n`);
    }
  });

  test("documents without a run are refused: nothing would happen", async () => {
    await writeFile(join(cli.directory, "map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lonely}\n");
    expect(await cli.run("run", "map.yaml")).toMatchObject({
      code: 2,
      err: "slipway: the files hold no run, only other objects\nstore them with: slipway apply -f map.yaml\n",
    });
    expect((await cli.run("get", "cm", "lonely")).code).toBe(1);
  });

  test("a kind that the control plane does not serve stops everything before the run", async () => {
    const path = join(cli.directory, "strange.yaml");
    const run = JSON.stringify({
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "never" },
      spec: { steps: { a: make() } },
    });
    await writeFile(path, `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n---\n${run}\n`);
    const { code, err } = await cli.run("run", path);
    expect(code).toBe(2);
    expect(err).toContain("the control plane serves no example.com/v1 Thing");
    expect((await cli.run("get", "wf", "never")).code).toBe(1);
  });

  test("--detach needs somebody to leave the run to", async () => {
    const { code, err } = await cli.run("run", "--ephemeral", "--detach", await file("orphan", { a: wait() }));
    expect(code, err).toBe(2);
    expect(err).toContain("--detach needs a running control plane");
  });

  test("a name that is taken gets a suffix, and the person is told", async () => {
    await begin("taken", { a: make() }, "Succeeded");
    const { code, err } = await cli.run("run", "taken.json");
    expect(code).toBe(0);
    expect(err).toMatch(/slipway: taken exists already; this run is taken-\w{5}\n/);
  });
});

describe("get", () => {
  test("a table is the server's, and wide has more columns", async () => {
    const { out } = await must("get", "configmaps", "one", "two");
    expect(out).toMatch(/^NAME +DATA +AGE\none +0 +\S+\ntwo +0 +\S+\n$/);
    expect((await must("get", "crd", "-o", "wide")).out).toMatch(/^NAME /);
    expect((await must("get", "cm", "-A")).out).toMatch(/^NAMESPACE +NAME /);
  });

  test("labels and namespaces choose, and nothing is said on stdout when nothing is there", async () => {
    expect((await must("get", "cm", "-l", "which=two", "-o", "name")).out).toBe("configmap/two\n");
    const empty = await must("get", "cm", "-l", "which=none");
    expect(empty).toMatchObject({ out: "", err: "no configmaps in namespace default\n" });
    expect((await must("-n", "kube-system", "get", "jobs")).err).toBe("no jobs in namespace kube-system\n");
    expect((await must("get", "jobs", "-A")).err).toBe("no jobs\n");
  });

  test("one name is the object, several and none are a List", async () => {
    const json = async (...words: readonly string[]) =>
      JSON.parse((await must(...words, "-o", "json")).out) as JsonObject;
    expect(await json("get", "cm", "one")).toMatchObject({ kind: "ConfigMap", metadata: { name: "one" } });
    expect(await json("get", "cm", "one", "two")).toMatchObject({ kind: "List", items: [{}, {}] });
    expect(await json("get", "cm", "-l", "which=none")).toMatchObject({ kind: "List", items: [] });
    expect((await must("get", "configmap/one", "configmap/two", "-o", "name")).out).toBe(
      "configmap/one\nconfigmap/two\n",
    );
  });

  test.each<[readonly string[], number, string]>([
    [["get", "cm", "nobody"], 1, 'configmaps "nobody" not found'],
    [["get", "confgmaps"], 2, 'serves no kind "confgmaps"; did you mean "configmaps"?'],
    [
      ["get", "cm", "-o", "toml"],
      2,
      'no output format "toml": expected table, wide, json, yaml, name or jsonpath=TEMPLATE',
    ],
    [["get", "cm", "-o", "jsonpath={.items[*}"], 2, "the jsonpath template is not valid"],
    [["get", "cm/one", "two"], 2, 'expected cm/NAME, found "two"'],
    [["get", "cm", "one", "two", "-w"], 2, "--watch takes at most one name"],
    [["get", "cm", "-l", "a in"], 2, "selector"],
  ])("%j ends with %d", async (words, code, message) => {
    const found = await cli.run(...words);
    expect(found).toMatchObject({ code, out: "", err: expect.stringContaining(message) });
  });

  test("of several names those that are there are printed, and the others are told, as kubectl does", async () => {
    const told = { code: 1, err: 'slipway: configmaps "nobody" not found\n' };
    const table = await cli.run("get", "cm", "one", "nobody", "two");
    expect(table).toMatchObject({ ...told, out: expect.stringMatching(/^NAME.*\none .*\ntwo .*\n$/) });
    const names = await cli.run("get", "cm", "nobody", "two", "-o", "name");
    expect(names).toEqual({ ...told, out: "configmap/two\n" });
  });

  test("--watch goes on with every change until it is stopped, as objects and as a table", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "watched", namespace: "default" } };
    await client.create(ConfigMap, { ...object, data: { n: "1" } } as KubeObject);
    const ref = { type: ConfigMap, namespace: "default", name: "watched" };
    const stop = new AbortController();
    const watching = await commandLine({ client, signal: stop.signal });
    const told = (output: Finished) => output.out.trimEnd().split("\n");
    const objects = watching.run("get", "cm", "watched", "-o", "jsonpath={.data.n}", "-w");
    const table = watching.run("get", "cm", "watched", "-w");
    const change = (n: string) => client.patch(ref, { type: "merge", body: { data: { n } } });
    // Listed or not, these come; once both have told of something, the last one comes to both by the watch.
    for (const n of ["2", "3"]) await change(n);
    await watching.until((text) => /^\d/m.test(text) && text.includes("watched"));
    await change("last");
    await watching.until((text) => text.includes("last") && text.split("watched").length > 2);
    await client.delete(ref);
    stop.abort();
    for (const each of [objects, table]) expect((await each).code).toBe(0);
    expect(told(await objects)).toContain("last");
    expect(told(await table)[0]).toMatch(/^NAME +DATA +AGE$/);
    expect(
      told(await table)
        .slice(1)
        .every((row) => /^watched +1 +\S+$/.test(row)),
    ).toBe(true);
    await watching.close();
  });
});

describe("describe, graph and logs", () => {
  beforeAll(() => begin("shown", { a: make({ displayName: "Make it" }), b: wait({ dependencies: ["a"] }) }));

  test("describe and why take one run, by its name or with its kind, and say what is too much", async () => {
    await must("run", await file("one-run", { a: make() }));
    expect((await must("describe", "workflow", "one-run")).out).toContain("one-run");
    expect((await must("why", "workflow", "one-run", "a")).out).toContain("a");
    expect(await cli.run("describe", "one-run", "other")).toMatchObject({
      code: 2,
      err: expect.stringContaining("describe takes one object, found also other"),
    });
    expect(await cli.run("why", "one-run", "a", "b")).toMatchObject({
      code: 2,
      err: expect.stringContaining("why takes one step, found also b"),
    });
  });

  test("describe tells the steps in order and the events", async () => {
    await until("shown", "Running");
    const progress = async () => (await must("get", "wf", "shown", "-o", "jsonpath={.status.progress}")).out.trim();
    await expect.poll(progress, { interval: 5 }).toBe("1/2");
    // Events are written after the status they tell of.
    await expect.poll(async () => (await must("describe", "shown")).out, { interval: 5 }).toContain("StepSucceeded");
    const { out } = await must("describe", "shown");
    expect(out).toContain("WorkflowStarted");
    expect(out).toMatch(/^Name: +shown +Namespace: +default +Phase: +Running \(1\/2\)/);
    expect(out).toMatch(/\nb +(?:Waiting|Running) .*\[x\] a/);
    expect((await must("describe", "workflow", "shown")).out).toContain("Name:");
    const steps = [{ id: "a", phase: "Succeeded" }, { id: "b" }];
    expect(JSON.parse((await must("describe", "shown", "-o", "json")).out)).toMatchObject({ name: "shown", steps });
    expect((await must("describe", "shown", "-o", "yaml")).out).toContain("name: shown\n");
    expect((await must("describe", "wf/shown")).out).toContain("Name:");
  });

  test("what holds a running run up is told beside the table, and nothing of runs that are over", async () => {
    const env = [{ name: "X", valueFrom: { secretKeyRef: { name: "nowhere", key: "x" } } }];
    await begin("lacking", { a: { container: { image: "i", command: ["true"], env } } });
    const line = 'slipway: lacking: a is held up (CreateContainerConfigError: secret "nowhere" not found)\n';
    for (let err = ""; err !== line; ) {
      ({ err } = await must("get", "wf", "lacking"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await must("get", "wf", "lacking", "-o", "json")).err).toBe("");
    await must("cancel", "lacking");
    await until("lacking", "Canceled");
    expect((await must("get", "wf", "lacking")).err).toBe("");
  });

  test("graph draws a run, or every run of a file", async () => {
    expect((await must("graph", "shown")).out).toMatch(
      /^a \(Make it\) {2}Succeeded\n {2}b {10}(?:Waiting|Running) +<- a\n$/,
    );
    expect((await must("graph", "shown.json")).out).toBe("a (Make it)\n  b          <- a\n");
    expect(JSON.parse((await must("graph", "shown", "-o", "json")).out)).toMatchObject({
      edges: [{ from: "a", to: "b" }],
    });
    await writeFile(join(cli.directory, "map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n");
    expect(await cli.run("graph", "map.yaml")).toMatchObject({ code: 2, err: "slipway: map.yaml holds no run\n" });
    expect(await cli.run("graph", "nowhere.yaml")).toMatchObject({
      code: 2,
      err: expect.stringContaining("cannot read"),
    });
    expect(await cli.run("graph", "nobody")).toMatchObject({
      code: 1,
      err: expect.stringContaining('"nobody" not found'),
    });
  });

  test("why tells what a run and a step wait for, and who has suspended it", async () => {
    expect(await must("why", "shown")).toMatchObject({
      out: expect.stringMatching(/^shown: Running, 1 of 2/),
      err: "",
    });
    const [step] = JSON.parse((await must("why", "shown", "b", "-o", "json")).out).steps;
    expect(step).toMatchObject({ step: "b", waitsFor: expect.stringMatching(/^(?:timer|child)$/) });
    expect(await cli.run("why", "shown", "bb")).toMatchObject({ code: 2, err: expect.stringContaining('mean "b"') });
    await begin("halted", { a: make(), b: wait() });
    await must("suspend", "halted", "--reason", "tea");
    expect((await must("why", "halted")).out).toContain("(tea): nothing new starts\n");
  });

  test("why tells what keeps an invalid run, also of the child of a step", async () => {
    const parent = { child: { workflow: { templateRef: { name: "nowhere" } } } };
    await begin("parent", parent);
    const told = 'spec.templateRef: there is no WorkflowTemplate "nowhere"';
    await expect.poll(async () => (await must("why", "parent")).out).toContain(`; ${told}\n`);
    const [step] = JSON.parse((await must("why", "parent", "child", "-o", "json")).out).steps;
    expect(step).toMatchObject({ waitsFor: "child", reason: "TemplateNotFound", message: told });
    expect((await must("why", step.child.name)).out).toContain(`(TemplateNotFound: ${told})`);
    expect((await must("describe", "wf", step.child.name)).out).toContain(told);
  });

  test("diff tells what a document would change, what it would create, and what is refused", async () => {
    expect(await must("diff", "shown.json")).toMatchObject({ out: "" });
    const later = {
      a: make({ displayName: "Make it" }),
      b: wait({ dependencies: ["a"] }),
      c: wait({ dependencies: ["b"] }),
    };
    const more = await cli.run("diff", await file("shown-more", later), "shown");
    expect(more).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^workflow\/shown would change\n {2}\+ spec.steps.c/),
    });
    const changed = await file("shown-other", { a: wait() });
    const other = await cli.run("diff", changed, "shown", "-o", "json");
    expect(other.code).toBe(1);
    expect(JSON.parse(other.out)).toMatchObject([
      { change: "refused", refusals: expect.arrayContaining([expect.stringContaining(`completed step "a"`)]) },
    ]);
    const lines = (await cli.run("diff", changed, "shown")).out.split("\n").map((line) => line.split(": ")[0]);
    expect(lines).toEqual([
      "workflow/shown cannot change so",
      "  refused",
      "  - spec.steps.a.displayName",
      "  - spec.steps.a.template",
      "  + spec.steps.a.wait",
      "  - spec.steps.b",
      "",
    ]);
    expect(await cli.run("diff", await file("unheard", { a: wait() }))).toMatchObject({
      code: 1,
      out: "workflow/unheard would be created\n",
    });
  });

  test("logs of steps without programs are empty, and unknown steps are named with the known ones", async () => {
    expect(await must("logs", "shown")).toMatchObject({ out: "" });
    expect(await cli.run("logs", "shown", "a", "x", "y")).toMatchObject({
      code: 2,
      err: 'slipway: no step "x", "y"\nthe steps are a, b\n',
    });
  });

  test("logs are followed of steps that the run learns of later, and words that are none of them are refused then", async () => {
    const metadata = { name: "late", namespace: "default", uid: "u", resourceVersion: "1", creationTimestamp: "" };
    const type = { apiVersion: "wharf.slipway.dev/v1alpha1", kind: "Build" };
    const build = (status: JsonObject) => ({ ...type, metadata, spec: { project: "p", stage: "ALL" }, status });
    const started = (status: string, own: string) => ({
      type: "MODIFIED",
      object: build({
        status,
        stages: [{ stageId: 1, name: "test", status: own, steps: [1, 2] }],
        steps: ["unit", "lint"].map((name, at) => ({ stepId: at + 1, stageId: 1, name, status: own })),
      }),
    });
    const told = {
      get: async () => build({ status: "Scheduling" }),
      async *watch() {
        yield { type: "MODIFIED", object: build({ status: "Running" }) };
        yield started("Running", "Running");
        yield started("Completed", "Success");
      },
      async *logs(_run: unknown, { container }: { readonly container: string }) {
        yield Buffer.from(`of ${container}\n`);
      },
    };
    const late = new Proxy(client, {
      get: (own, name) => Reflect.get(told, name) ?? (Reflect.get(own, name) as () => unknown).bind(own),
    });
    const line = await commandLine({ client: late, variables: { SLIPWAY_KUBECONFIG: "the-test" } });
    try {
      const all = await line.run("logs", "build/late", "-f");
      expect([all.code, all.out.split("\n").toSorted()]).toEqual([0, ["", "1 | of 1", "2 | of 2"]]);
      expect(await line.run("logs", "build/late", "test/lint", "-f")).toMatchObject({ code: 0, out: "of 2\n" });
      expect(await line.run("logs", "build/late", "lnt", "-f")).toMatchObject({
        code: 2,
        err: 'slipway: no step "lnt"\nthe steps are test/unit, test/lint\n',
      });
    } finally {
      await line.close();
    }
  });

  test.each<[readonly string[], number, string]>([
    [["describe", "nobody"], 1, '"nobody" not found'],
    [["describe", "cm/one"], 2, "objects of kind ConfigMap are no runs"],
    [["logs", "nobody"], 1, '"nobody" not found'],
    [["cancel", "nobody"], 1, 'there is no workflow "nobody"'],
  ])("%j ends with %d", async (words, code, message) => {
    expect(await cli.run(...words)).toMatchObject({ code, err: expect.stringContaining(message) });
  });
});

describe("cancel, suspend, resume and retry", () => {
  test("a run is suspended, resumed, canceled and run again", async () => {
    await begin("steered", { a: make(), b: wait() });
    expect((await must("suspend", "steered")).out).toBe("workflow/steered suspended\n");
    await until("steered", "Suspended");
    expect((await must("resume", "workflow/steered")).out).toBe("workflow/steered resumed\n");
    await until("steered", "Running");
    expect((await must("cancel", "workflow", "steered", "--reason", "no need")).out).toMatch(
      /^workflow\/steered (?:canceled|cancel requested)\n$/,
    );
    await until("steered", "Canceled");
    expect((await must("retry", "steered", "--step", "b")).out).toBe("workflow/steered retried\n");
    await until("steered", "Running");
    expect((await must("get", "wf", "steered", "-o", "jsonpath={.status.runNumber}")).out).toBe("2\n");
  });

  test("the reason is recorded with the action", async () => {
    await begin("explained", { a: make(), b: wait() });
    await must("cancel", "explained", "--reason", "by mistake", "--force");
    const { out } = await must("get", "ra", "-o", "json");
    const { items } = JSON.parse(out) as { readonly items: readonly { readonly spec: JsonObject }[] };
    expect(items.map(({ spec }) => spec)).toContainEqual(
      expect.objectContaining({ action: "cancel", reason: "by mistake", force: true }),
    );
  });

  test("a step that cannot be skipped any more is canceled instead, and the run goes on", async () => {
    await begin("parts", { a: { approval: { message: "Go?" } }, b: wait(), c: wait() });
    const refusal = await cli.run("skip", "parts", "a");
    expect(refusal).toMatchObject({ code: 1, err: expect.stringContaining("but it can be canceled") });
    expect((await must("cancel", "parts", "a")).out).toBe("workflow/parts step a canceled\n");
    expect((await must("cancel", "workflow", "parts", "b", "--reason", "too")).out).toBe(
      "workflow/parts step b canceled\n",
    );
    expect((await must("cancel", "parts", "--step", "c")).out).toBe("workflow/parts step c canceled\n");
    const { out } = await must("get", "wf", "parts", "-o", "json");
    expect(JSON.parse(out)).toMatchObject({
      status: {
        phase: "Failed",
        statuses: { b: { reason: "StepCanceled", message: "too" } },
      },
    });
    expect(await cli.run("cancel", "parts", "d")).toMatchObject({
      code: 1,
      err: 'slipway: workflow/parts: there is no step "d"\n',
    });
  });

  test("a refusal is told with its reason, and ends with 1", async () => {
    await begin("refused", { a: make() }, "Succeeded");
    expect(await cli.run("suspend", "refused")).toMatchObject({
      code: 1,
      out: "",
      err: "slipway: workflow/refused: the workflow is Succeeded; only retry is possible\n",
    });
    expect(await cli.run("retry", "refused", "--step", "aa")).toMatchObject({
      code: 1,
      err: 'slipway: workflow/refused: there is no step "aa", did you mean "a"\n',
    });
  });

  test.each<[readonly string[], string]>([
    [["suspend", "one", "two"], "suspend takes one run, found also two"],
    [["cancel", "one", "a", "b"], "cancel takes a run and at most one of its steps, found 2 steps"],
    [["cancel", "one", "a", "--step", "b"], "cancel takes a run and at most one of its steps, found 2 steps"],
    [["cancel", "one", "--step", "a", "--step", "b"], "at most one of its steps, found 2 steps"],
  ])("%j is refused as usage", async (words, message) => {
    expect(await cli.run(...words)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe("approve, reject and skip", () => {
  const ask = (more: JsonObject = {}): JsonObject => ({ approval: { message: "Go?", ...more } });

  test("an approval gives values of the types that are asked for", async () => {
    const inputs = [{ name: "replicas", type: "integer" }, { name: "tag" }];
    await begin("asked", { ask: ask({ inputs }), after: wait({ dependencies: ["ask"] }) }, "Suspended");
    expect((await must("describe", "wf", "asked")).out).toContain("Go?; waits for approval");
    expect(await cli.run("approve", "asked", "ask", "--value", "replicas=many", "--value", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'expected --value name=value, found "x"; replicas: expected an integer, found "many"',
      ),
    });
    expect(await cli.run("approve", "asked", "ask", "--value", "tga=v1")).toMatchObject({
      code: 1,
      err: 'slipway: workflow/asked: values.tga: no parameter "tga" is declared (did you mean "tag"?)\n',
    });
    const { out } = await must("approve", "workflow", "asked", "ask", "--value", "replicas=3", "--value", "tag=1");
    expect(out).toBe("workflow/asked step ask approved (1 of 1 approvals)\n");
    const read = await must("get", "wf", "asked", "-o", "jsonpath={.status.statuses.ask.outputs}");
    expect(JSON.parse(read.out)).toEqual({ replicas: 3, tag: "1", approvedBy: [] });
  });

  test("a rejection fails the step, and what has not started can be skipped", async () => {
    await begin("unwanted", { ask: ask(), later: make({ dependencies: ["ask"] }) }, "Suspended");
    expect((await must("skip", "unwanted", "later")).out).toBe("workflow/unwanted step later skipped\n");
    expect((await must("reject", "unwanted", "ask", "--reason", "no")).out).toBe(
      "workflow/unwanted step ask rejected\n",
    );
    await until("unwanted", "Failed");
    expect(await cli.run("approve", "unwanted", "ask")).toMatchObject({
      code: 1,
      err: "slipway: workflow/unwanted: the workflow is Failed; only retry is possible\n",
    });
  });

  test.each<[readonly string[]]>([[["approve", "one"]], [["reject", "one"]], [["skip", "one", "a", "b"]]])(
    "%j is refused as usage",
    async (words) => {
      expect(await cli.run(...words)).toMatchObject({ code: 2 });
    },
  );
});

describe("run of what is stored", () => {
  const slipwayDev = "slipway.dev/v1alpha1";
  beforeAll(async () => {
    const params = [
      { name: "n", type: "integer", default: 1 },
      { name: "who", required: true },
    ];
    const data = { n: "${{ string(params.n) }}", who: "${{ params.who }}", at: "${{ schedule.time }}" };
    const steps = { a: { template: { apiVersion: "v1", kind: "ConfigMap", data } } };
    const template = {
      apiVersion: slipwayDev,
      kind: "WorkflowTemplate",
      metadata: { name: "greet", namespace: "default" },
      spec: { params, steps },
    };
    const workflowTemplate = { metadata: { labels: { team: "x" } }, spec: { params, arguments: { who: "it" }, steps } };
    const schedule = {
      apiVersion: slipwayDev,
      kind: "ScheduledWorkflow",
      metadata: { name: "yearly", namespace: "default" },
      spec: { schedule: "@yearly", suspend: true, workflowTemplate },
    };
    for (const object of [template, schedule]) await client.create(await servedType(object), object);
  });

  const servedType = async ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) => {
    const type = await client.resourceType(apiVersion, kind);
    if (type === undefined) throw new Error(`no ${kind}`);
    return type;
  };
  const runOf = async (text: string) => {
    const name = /workflow\/(\S+) created/.exec(text)?.[1] ?? "";
    const type = await servedType({ apiVersion: slipwayDev, kind: "Workflow" });
    return await client.get({ type, namespace: "default", name });
  };

  test("a template: with arguments read by the types of its parameters, under a new name every time", async () => {
    for (const word of ["wft", "workflowtemplate", "workflowtemplates.slipway.dev"]) {
      const { out } = await must("run", `${word}/greet`, "-p", "n=7", "-p", "who=you", "--detach");
      expect(out).toMatch(/^workflow\/greet-\w{5} created\n$/);
      const run = await runOf(out);
      expect(run.spec).toMatchObject({ templateRef: { name: "greet" }, arguments: { n: 7, who: "you" } });
      await until(run.metadata.name, "Succeeded");
    }
  });

  test("it is followed to its end, and printed as json", async () => {
    const { code, out, err } = await cli.run("run", "wft/greet", "-p", "who=you", "-o", "json");
    expect(code, err).toBe(0);
    expect(err).toMatch(/slipway: this run is greet-\w{5}\n/);
    expect(JSON.parse(out)).toMatchObject({ kind: "Workflow", status: { phase: "Succeeded" } });
  });

  test("a schedule: its run now, which belongs to it, also while it is suspended", async () => {
    for (const word of ["schedule", "swf", "scheduledworkflow"]) {
      const { out } = await must("run", `${word}/yearly`, "--param", "who=me", "--detach");
      const run = await runOf(out);
      expect(run.metadata).toMatchObject({
        name: expect.stringMatching(/^yearly-\w{5}$/),
        labels: { team: "x", "slipway.dev/scheduled-workflow": "yearly" },
        ownerReferences: [{ kind: "ScheduledWorkflow", name: "yearly", controller: true }],
      });
      expect(run.spec).toMatchObject({ arguments: { who: "me" } });
      await until(run.metadata.name, "Succeeded");
      const { data } = (await client.list(ConfigMap, { labelSelector: `slipway.dev/workflow=${run.metadata.name}` }))
        .items[0] as unknown as { readonly data: object };
      expect(data).toMatchObject({ who: "me", at: run.metadata.annotations?.["slipway.dev/scheduled-at"] });
    }
  });

  test("2: what is wrong is told before anything starts", async () => {
    const refused = async (...words: string[]) => {
      const { code, err } = await cli.run("run", ...words);
      expect(code, err).toBe(2);
      return err;
    };
    expect(await refused("wft/gret")).toMatch(
      /there is no WorkflowTemplate "gret" in the namespace default[^]*did you mean wft\/greet\?/,
    );
    expect(await refused("schedule/zzzzzz")).toMatch(/there is no ScheduledWorkflow "zzzzzz"[^]*it holds yearly/);
    expect(await refused("wft/greet")).toContain('the parameter "who" is required');
    expect(await refused("wft/greet", "-p", "who=x", "-p", "n=many")).toContain('expected an integer, found "many"');
    expect(await refused("wft/greet", "-p", "whom=x")).toContain('no parameter "whom" is declared');
    expect(await refused("wft/greet", "--ephemeral")).toContain("is stored on a running control plane");
    expect(await refused("wft/greet", await file("beside", { a: make() }))).toContain("such as wft/NAME");
    expect(await refused("nothing/greet")).toContain("nothing/greet");
  });

  test("--dry-run shows it and creates nothing", async () => {
    const before = (await must("get", "wf", "-o", "name")).out;
    for (const words of [["wft/greet", "-p", "who=you"], ["schedule/yearly"]])
      expect((await must("run", ...words, "--dry-run")).out).toContain("ConfigMap");
    expect((await must("get", "wf", "-o", "name")).out).toBe(before);
  });

  test("names are completed, with the word before them", async () => {
    const names = await startableNames({ client, namespace: "default" }, new AbortController().signal);
    expect(names).toEqual(["wft/greet", "schedule/yearly"]);
  });
});

describe("lint", () => {
  test("0 with warnings, 2 with errors, 2 with warnings under --strict", async () => {
    const warned = await file("unbounded", { a: make() });
    expect(await cli.run("lint", warned)).toMatchObject({
      code: 0,
      out: expect.stringContaining("warning: spec: no deadline"),
      err: "1 document, 0 errors, 1 warning\n",
    });
    expect((await cli.run("lint", "--strict", warned)).code).toBe(2);
    const wrong = await file("wrong", { a: {} });
    expect(await cli.run("lint", warned, wrong)).toMatchObject({ code: 2, err: "2 documents, 1 error, 1 warning\n" });
  });

  test("20 warnings of a code are shown, then their number; json has them all", async () => {
    const steps = Object.fromEntries(
      Array.from({ length: 25 }, (_, at) => [`s${at}`, { wait: { seconds: 1 }, locks: [{ name: "l" }] }]),
    );
    const path = await file("many", steps);
    const { code, out, err } = await cli.run("lint", path);
    const lines = out.trimEnd().split("\n");
    expect(lines.filter((line) => line.includes("a timer takes no locks"))).toHaveLength(20);
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe("warning: 5 more warnings with the code idle-lock; -o json lists them all");
    expect([code, err]).toEqual([0, "1 document, 0 errors, 26 warnings\n"]);
    expect(JSON.parse((await cli.run("lint", path, "-o", "json")).out)).toHaveLength(26);
  });

  test("json is a list of problems, an empty one when all is well", async () => {
    const good = await file("sound", { a: make() }, { activeDeadlineSeconds: 5 });
    expect(await cli.run("lint", good, "-o", "json")).toEqual({ code: 0, out: "[]\n", err: "" });
    const { out } = await cli.run("lint", await file("wrong", { a: {} }), "-o", "json");
    expect(JSON.parse(out)).toMatchObject([{ code: "not-exactly-one", position: { file: "wrong.json", line: 1 } }]);
  });
});
