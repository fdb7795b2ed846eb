import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { commandPlane, make, wait, fails } from "#test/support/command-plane.ts";
import { commandLine, type Finished } from "#test/support/command-line.ts";

// Commands that start runs and show them, against a control plane in this process.

const plane = commandPlane();
const { must, file, begin, until } = plane;

describe("run", () => {
  test("0: every step is told as it ends, on stderr; stdout stays empty", async () => {
    const { code, out, err } = await plane.cli.run(
      "run",
      await file("well", { a: make(), b: make({ dependencies: ["a"] }) }),
    );
    expect(code, err).toBe(0);
    expect(out).toBe("");
    expect(err.split("\n")[0]).toBe("slipway: using the control plane of the-test; its runtime runs the steps");
    expect(err).toMatch(/\] a: Succeeded in /);
    expect(err.trimEnd()).toMatch(/\] well: Succeeded in [\d.]+s$/);
  });

  test("1: why a step failed is the last thing on the screen", async () => {
    const { code, err } = await plane.cli.run("run", await file("badly", { a: fails() }));
    expect(code).toBe(1);
    expect(err).toContain("a: Failed");
    expect(err).toContain("ExpressionError");
  });

  test("2: nothing is started when one of several documents is wrong", async () => {
    const good = await file("innocent", { a: make() });
    const { code, err } = await plane.cli.run("run", good, await file("guilty", { a: {} }), "-p", "junk");
    expect(code).toBe(2);
    expect(err).toContain('expected --param name=value, found "junk"');
    expect(err).toContain("guilty.json:");
    expect((await plane.cli.run("get", "wf", "innocent")).code).toBe(1);
  });

  test("2: the server refuses a document that only another one would carry out", async () => {
    const spec = {
      hostIPC: true,
      restartPolicy: "Never",
      containers: [{ name: "main", image: "i", command: ["true"] }],
    };
    const done = await plane.cli.run(
      "run",
      await file("not-here", { a: { jobTemplate: { spec: { template: { spec } } } } }),
    );
    expect(done).toMatchObject({ code: 2, err: expect.stringContaining("hostIPC: Forbidden") });
  });

  test("4: past its deadline", async () => {
    const { code, err } = await plane.cli.run("run", await file("late", { a: wait() }, { activeDeadlineSeconds: 1 }));
    expect(code, err).toBe(4);
  });

  test("-o json prints the object at its end", async () => {
    const { code, out } = await plane.cli.run("run", await file("printed", { a: make() }), "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ kind: "Workflow", status: { phase: "Succeeded" } });
  });

  test("several runs go on side by side, and the worst of them decides", async () => {
    const files = [await file("first", { a: make() }), await file("second", { a: fails() })];
    const { code, err } = await plane.cli.run("run", ...files);
    expect(code).toBe(1);
    expect(err).toContain("first: Succeeded");
    expect(err).toContain("second: Failed");
  });

  test("other objects of the documents are there before the runs, and are brought up to date", async () => {
    const path = join(plane.cli.directory, "with-map.yaml");
    const map = (value: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {value: "${value}"}\n`;
    const run = `---\napiVersion: slipway.dev/v1alpha1\nkind: Workflow\nmetadata: {name: reads}\nspec:\n  activeDeadlineSeconds: 60\n  steps: {a: {externalRef: {apiVersion: v1, kind: ConfigMap, name: given}}}\n`;
    for (const value of ["old", "new"]) {
      await writeFile(path, map(value) + run);
      const { code, err } = await plane.cli.run("run", path);
      expect(code, err).toBe(0);
      expect((await must("get", "cm", "given", "-o", "jsonpath={.data.value}")).out).toBe(`${value}\n`);
    }
  });

  test("documents without a run are refused: nothing would happen", async () => {
    await writeFile(
      join(plane.cli.directory, "map.yaml"),
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lonely}\n",
    );
    expect(await plane.cli.run("run", "map.yaml")).toMatchObject({
      code: 2,
      err: "slipway: the files contain no run, only other objects\nstore them with: slipway apply -f map.yaml\n",
    });
    expect((await plane.cli.run("get", "cm", "lonely")).code).toBe(1);
  });

  test("a kind that the control plane does not serve stops everything before the run", async () => {
    const path = join(plane.cli.directory, "strange.yaml");
    const run = JSON.stringify({
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "never" },
      spec: { steps: { a: make() } },
    });
    await writeFile(path, `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n---\n${run}\n`);
    const { code, err } = await plane.cli.run("run", path);
    expect(code).toBe(2);
    expect(err).toContain("the control plane serves no example.com/v1 Thing");
    expect((await plane.cli.run("get", "wf", "never")).code).toBe(1);
  });

  test("--detach needs somebody to leave the run to", async () => {
    const { code, err } = await plane.cli.run("run", "--ephemeral", "--detach", await file("orphan", { a: wait() }));
    expect(code, err).toBe(2);
    expect(err).toContain("--detach needs a running control plane");
  });

  test("a name that is taken gets a suffix, and the person is told", async () => {
    await begin("taken", { a: make() }, "Succeeded");
    const { code, err } = await plane.cli.run("run", "taken.json");
    expect(code).toBe(0);
    expect(err).toMatch(/slipway: taken already exists; this run is taken-\w{5}\n/);
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
    const found = await plane.cli.run(...words);
    expect(found).toMatchObject({ code, out: "", err: expect.stringContaining(message) });
  });

  test("of several names those that are there are printed, and the others are told, as kubectl does", async () => {
    const told = { code: 1, err: 'slipway: configmaps "nobody" not found\n' };
    const table = await plane.cli.run("get", "cm", "one", "nobody", "two");
    expect(table).toMatchObject({ ...told, out: expect.stringMatching(/^NAME.*\none .*\ntwo .*\n$/) });
    const names = await plane.cli.run("get", "cm", "nobody", "two", "-o", "name");
    expect(names).toEqual({ ...told, out: "configmap/two\n" });
  });

  test("--watch goes on with every change until it is stopped, as objects and as a table", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "watched", namespace: "default" } };
    await plane.client.create(ConfigMap, { ...object, data: { n: "1" } } as KubeObject);
    const ref = { type: ConfigMap, namespace: "default", name: "watched" };
    const stop = new AbortController();
    const watching = await commandLine({ client: plane.client, signal: stop.signal });
    const told = (output: Finished) => output.out.trimEnd().split("\n");
    const objects = watching.run("get", "cm", "watched", "-o", "jsonpath={.data.n}", "-w");
    const table = watching.run("get", "cm", "watched", "-w");
    const change = (n: string) => plane.client.patch(ref, { type: "merge", body: { data: { n } } });
    // Listed or not, these come; once both have told of something, the last one comes to both by the watch.
    for (const n of ["2", "3"]) await change(n);
    await watching.until((text) => /^\d/m.test(text) && text.includes("watched"));
    await change("last");
    await watching.until((text) => text.includes("last") && text.split("watched").length > 2);
    await plane.client.delete(ref);
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
    expect(await plane.cli.run("describe", "one-run", "other")).toMatchObject({
      code: 2,
      err: expect.stringContaining("describe takes one object, found also other"),
    });
    expect(await plane.cli.run("why", "one-run", "a", "b")).toMatchObject({
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

  test("status counts runs and agents, and lists the steps that wait for approval", async () => {
    await plane.begin("to-approve", { ask: { approval: { message: "Go?" } } }, "Suspended");
    const agent = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Agent",
      metadata: { name: "node-9" },
      spec: { agentID: "node-9" },
    };
    const type = await plane.client.resourceType(agent.apiVersion, agent.kind);
    if (type === undefined) throw new Error("no Agents are served");
    await plane.client.create(type, agent);
    const { out } = await must("status");
    expect(out).toContain("Waiting for approval:\n  workflow/to-approve ask\n");
    expect(out).toContain("Agents: 0 connected, 1 disconnected\n");
    expect(JSON.parse((await must("status", "-o", "json")).out)).toMatchObject({
      approvals: ["workflow/to-approve ask"],
      agents: { connected: 0, disconnected: 1 },
    });
  });

  test("graph draws a run, or every run of a file", async () => {
    expect((await must("graph", "shown")).out).toMatch(
      /^a \(Make it\) {2}Succeeded\n {2}b {10}(?:Waiting|Running) +<- a\n$/,
    );
    expect((await must("graph", "shown.json")).out).toBe("a (Make it)\n  b          <- a\n");
    expect(JSON.parse((await must("graph", "shown", "-o", "json")).out)).toMatchObject({
      edges: [{ from: "a", to: "b" }],
    });
    await writeFile(join(plane.cli.directory, "map.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n");
    expect(await plane.cli.run("graph", "map.yaml")).toMatchObject({
      code: 2,
      err: "slipway: map.yaml contains no run\n",
    });
    expect(await plane.cli.run("graph", "nowhere.yaml")).toMatchObject({
      code: 2,
      err: expect.stringContaining("cannot read"),
    });
    expect(await plane.cli.run("graph", "nobody")).toMatchObject({
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
    expect(await plane.cli.run("why", "shown", "bb")).toMatchObject({
      code: 2,
      err: expect.stringContaining('mean "b"'),
    });
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
    const more = await plane.cli.run("diff", await file("shown-more", later), "shown");
    expect(more).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^workflow\/shown would change\n {2}\+ spec.steps.c/),
    });
    const changed = await file("shown-other", { a: wait() });
    const other = await plane.cli.run("diff", changed, "shown", "-o", "json");
    expect(other.code).toBe(1);
    expect(JSON.parse(other.out)).toMatchObject([
      { change: "refused", refusals: expect.arrayContaining([expect.stringContaining(`completed step "a"`)]) },
    ]);
    const lines = (await plane.cli.run("diff", changed, "shown")).out.split("\n").map((line) => line.split(": ")[0]);
    expect(lines).toEqual([
      "workflow/shown cannot be changed",
      "  refused",
      "  - spec.steps.a.displayName",
      "  - spec.steps.a.template",
      "  + spec.steps.a.wait",
      "  - spec.steps.b",
      "",
    ]);
    expect(await plane.cli.run("diff", await file("unheard", { a: wait() }))).toMatchObject({
      code: 1,
      out: "workflow/unheard would be created\n",
    });
  });

  test("logs of steps without programs are empty, and unknown steps are named with the known ones", async () => {
    expect(await must("logs", "shown")).toMatchObject({ out: "" });
    expect(await plane.cli.run("logs", "shown", "a", "x", "y")).toMatchObject({
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
    const late = new Proxy(plane.client, {
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
    [["describe", "cm/one"], 2, "objects of kind ConfigMap are not runs"],
    [["logs", "nobody"], 1, '"nobody" not found'],
    [["cancel", "nobody"], 1, 'there is no workflow "nobody"'],
  ])("%j ends with %d", async (words, code, message) => {
    expect(await plane.cli.run(...words)).toMatchObject({ code, err: expect.stringContaining(message) });
  });
});
