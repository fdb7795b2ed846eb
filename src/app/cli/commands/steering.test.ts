import { beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { startableNames } from "../stored-runs.ts";
import { commandPlane, make, wait } from "#test/support/command-plane.ts";

// Commands that steer runs and start what is stored, against a control plane in this process.

const plane = commandPlane();
const { must, file, begin, until } = plane;

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
    const refusal = await plane.cli.run("skip", "parts", "a");
    expect(refusal).toMatchObject({ code: 1, err: expect.stringContaining("but it can be canceled") });
    expect((await must("cancel", "parts", "a")).out).toBe("workflow/parts step a canceled\n");
    expect((await must("cancel", "workflow", "parts", "b", "--reason", "too")).out).toBe(
      "workflow/parts step b canceled\n",
    );
    expect((await must("cancel", "parts", "--step", "c")).out).toBe("workflow/parts step c canceled\n");
    const { out } = await must("get", "wf", "parts", "-o", "json");
    expect(JSON.parse(out)).toMatchObject({
      status: { phase: "Failed", statuses: { b: { reason: "StepCanceled", message: "too" } } },
    });
    expect(await plane.cli.run("cancel", "parts", "d")).toMatchObject({
      code: 1,
      err: 'slipway: workflow/parts: there is no step "d"\n',
    });
  });

  test("a refusal is told with its reason, and ends with 1", async () => {
    await begin("refused", { a: make() }, "Succeeded");
    expect(await plane.cli.run("suspend", "refused")).toMatchObject({
      code: 1,
      out: "",
      err: "slipway: workflow/refused: the workflow is Succeeded; only retry is possible\n",
    });
    expect(await plane.cli.run("retry", "refused", "--step", "aa")).toMatchObject({
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
    expect(await plane.cli.run(...words)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe("approve, reject and skip", () => {
  const ask = (more: JsonObject = {}): JsonObject => ({ approval: { message: "Go?", ...more } });

  test("an approval gives values of the types that are asked for", async () => {
    const inputs = [{ name: "replicas", type: "integer" }, { name: "tag" }];
    await begin("asked", { ask: ask({ inputs }), after: wait({ dependencies: ["ask"] }) }, "Suspended");
    expect((await must("describe", "wf", "asked")).out).toContain("Go? (waits for approval)");
    expect(await plane.cli.run("approve", "asked", "ask", "--value", "replicas=many", "--value", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'expected --value name=value, found "x"; replicas: expected an integer, found "many"',
      ),
    });
    expect(await plane.cli.run("approve", "asked", "ask", "--value", "tga=v1")).toMatchObject({
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
    expect(await plane.cli.run("approve", "unwanted", "aks")).toMatchObject({
      code: 1,
      err: 'slipway: workflow/unwanted: there is no step "aks", did you mean "ask"\nsteps that can be approved: ask\n',
    });
    expect((await must("skip", "unwanted", "later")).out).toBe("workflow/unwanted step later skipped\n");
    expect((await must("reject", "unwanted", "ask", "--reason", "no")).out).toBe(
      "workflow/unwanted step ask rejected\n",
    );
    await until("unwanted", "Failed");
    expect(await plane.cli.run("approve", "unwanted", "ask")).toMatchObject({
      code: 1,
      err: "slipway: workflow/unwanted: the workflow is Failed; only retry is possible\n",
    });
  });

  test.each<[readonly string[]]>([[["approve", "one"]], [["reject", "one"]], [["skip", "one", "a", "b"]]])(
    "%j is refused as usage",
    async (words) => {
      expect(await plane.cli.run(...words)).toMatchObject({ code: 2 });
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
    for (const object of [template, schedule]) await plane.client.create(await servedType(object), object);
  });

  const servedType = async ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) => {
    const type = await plane.client.resourceType(apiVersion, kind);
    if (type === undefined) throw new Error(`no ${kind}`);
    return type;
  };
  const runOf = async (text: string) => {
    const name = /workflow\/(\S+) created/.exec(text)?.[1] ?? "";
    const type = await servedType({ apiVersion: slipwayDev, kind: "Workflow" });
    return await plane.client.get({ type, namespace: "default", name });
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
    const { code, out, err } = await plane.cli.run("run", "wft/greet", "-p", "who=you", "-o", "json");
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
      const { data } = (
        await plane.client.list(ConfigMap, { labelSelector: `slipway.dev/workflow=${run.metadata.name}` })
      ).items[0] as unknown as { readonly data: object };
      expect(data).toMatchObject({ who: "me", at: run.metadata.annotations?.["slipway.dev/scheduled-at"] });
    }
  });

  test("2: what is wrong is told before anything starts", async () => {
    const refused = async (...words: string[]) => {
      const { code, err } = await plane.cli.run("run", ...words);
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
    expect(await refused("wft/greet", "--ephemeral")).toContain("is stored on the running control plane");
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
    const names = await startableNames({ client: plane.client, namespace: "default" }, new AbortController().signal);
    expect(names).toEqual(["wft/greet", "schedule/yearly"]);
  });
});

describe("lint", () => {
  test("0 with warnings, 2 with errors, 2 with warnings under --strict", async () => {
    const warned = await file("unbounded", { a: make() });
    expect(await plane.cli.run("lint", warned)).toMatchObject({
      code: 0,
      out: expect.stringContaining("warning: spec: no deadline"),
      err: "1 document, 0 errors, 1 warning\n",
    });
    expect((await plane.cli.run("lint", "--strict", warned)).code).toBe(2);
    const wrong = await file("wrong", { a: {} });
    expect(await plane.cli.run("lint", warned, wrong)).toMatchObject({
      code: 2,
      err: "2 documents, 1 error, 1 warning\n",
    });
  });

  test("20 warnings of a code are shown, then their number; json has them all", async () => {
    const steps = Object.fromEntries(
      Array.from({ length: 25 }, (_, at) => [`s${at}`, { wait: { seconds: 1 }, locks: [{ name: "l" }] }]),
    );
    const path = await file("many", steps);
    const { code, out, err } = await plane.cli.run("lint", path);
    const lines = out.trimEnd().split("\n");
    expect(lines.filter((line) => line.includes("a timer takes no locks"))).toHaveLength(20);
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toBe("warning: 5 more warnings with the code idle-lock; -o json lists them all");
    expect([code, err]).toEqual([0, "1 document, 0 errors, 26 warnings\n"]);
    expect(JSON.parse((await plane.cli.run("lint", path, "-o", "json")).out)).toHaveLength(26);
  });

  test("json is a list of problems, an empty one when all is well", async () => {
    const good = await file("sound", { a: make() }, { activeDeadlineSeconds: 5 });
    expect(await plane.cli.run("lint", good, "-o", "json")).toEqual({ code: 0, out: "[]\n", err: "" });
    const { out } = await plane.cli.run("lint", await file("wrong", { a: {} }), "-o", "json");
    expect(JSON.parse(out)).toMatchObject([{ code: "not-exactly-one", position: { file: "wrong.json", line: 1 } }]);
  });
});
