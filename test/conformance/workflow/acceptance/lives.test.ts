import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { childName } from "#dialects/workflow/child-names.ts";
import { jobs, types, WorkflowPlane, workflows } from "../control-plane.ts";
import { conditionIn, jobsOf, Kubelet, labelsOf, stepsOf } from "../kubelet.ts";

// Lines 6, 9, 15, 16 and 30 of the acceptance list: runs and their Jobs are deleted, changed, and met by what others have made.

let plane: WorkflowPlane;
let kubelet: Kubelet;
beforeEach(async () => {
  plane = await WorkflowPlane.start();
  kubelet = new Kubelet(plane);
});
afterEach(() => plane.close());

const box = { container: { image: "busybox" } };
const after = (...dependencies: readonly string[]) => ({ ...box, dependencies });
const codeOf = async (path: string) => (await plane.api.ask("GET", path)).status;
const edit = async (body: object, name = "wf") => {
  const answer = await plane.api.ask("PATCH", `${workflows}/${name}`, {
    bytes: JSON.stringify(body),
    headers: types.merge,
  });
  await plane.settle();
  return answer;
};
const reasonsOf = async (name: string) => {
  const events = await plane.list("/api/v1/namespaces/default/events");
  return events
    .filter((event) => String(event["involvedObject"]?.["name"]) === name)
    .map((event) => String(event["reason"]));
};

describe("line 6: deletion while a workflow runs", () => {
  const reference = { externalRef: { apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", name: "other" } };
  beforeEach(async () => {
    await plane.create("other", { steps: { wait: { wait: { seconds: 3_600 } } } });
    await plane.create("wf", { steps: { done: box, runs: box, later: after("runs"), ref: reference } });
    await kubelet.end("done");
  });

  test("takes the Jobs along, and nobody else's workflow", async () => {
    expect((await plane.api.ask("DELETE", `${workflows}/wf`)).status).toBe(200);
    await plane.pass(10_000);
    expect(await codeOf(`${workflows}/wf`)).toBe(404);
    expect(await jobsOf(plane)).toEqual([]);
    expect(await kubelet.steps()).toEqual([]);
    expect(await plane.phases("other")).toEqual({ wait: "Waiting/Timer" });
    expect((await reasonsOf("wf")).at(-1)).toBe("WorkflowDeleted");
  });

  test("that orphans leaves the Jobs, without an owner", async () => {
    await plane.api.ask("DELETE", `${workflows}/wf?propagationPolicy=Orphan`);
    await plane.pass(10_000);
    expect(await codeOf(`${workflows}/wf`)).toBe(404);
    const left = await jobsOf(plane);
    expect([...stepsOf(left)].sort()).toEqual(["done", "runs"]);
    for (const job of left) expect(job["metadata"]?.["ownerReferences"] ?? []).toEqual([]);
    expect(await kubelet.steps()).toEqual(["runs"]);
  });
});

describe("line 9: what may change of a run", () => {
  /** The causes of a refusal, as `field: message`. */
  const causesOf = async (steps: object): Promise<readonly string[]> => {
    const answer = await edit({ spec: { steps } });
    expect(answer.status, answer.text).toBe(422);
    const causes = answer.json["details"]?.["causes"] as unknown as readonly Readonly<Record<string, string>>[];
    return causes.map(({ field, message }) => `${field}: ${message}`);
  };

  beforeEach(async () => {
    await plane.create("wf", { steps: { done: box, runs: box, later: after("runs"), never: after("runs") } });
    await kubelet.end("done");
    await plane.pass(1_000);
  });

  test("a step that has not started is changed, removed or added", async () => {
    const changed = { container: { image: "busybox", args: ["changed"] }, dependencies: ["done"] };
    expect((await edit({ spec: { steps: { later: changed, never: null, added: after("later") } } })).status).toBe(200);
    expect(await kubelet.steps()).toEqual(["later", "runs"]);
    const made = (await jobsOf(plane)).find((job) => labelsOf(job)["slipway.dev/step"] === "later");
    expect(JSON.stringify(made)).toContain('"args":["changed"]');
    expect(await kubelet.endAll()).toEqual(["runs", "later", "added"]);
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded", progress: "4/4" });
  });

  test("a running or completed one is neither changed nor removed, and each is told", async () => {
    expect(await causesOf({ done: { displayName: "x" }, runs: null })).toEqual([
      'spec.steps.done: cannot modify completed step "done"',
      'spec.steps.runs: cannot delete running step "runs"',
      expect.stringContaining("spec.steps.later.dependencies[0]"),
      expect.stringContaining("spec.steps.never.dependencies[0]"),
    ]);
    expect(await causesOf({ done: null, runs: { displayName: "x" } })).toEqual([
      'spec.steps.done: cannot delete completed step "done"',
      'spec.steps.runs: cannot modify running step "runs"',
    ]);
    await kubelet.endAll();
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
  });

  test("a new cycle is refused", async () => {
    expect(await causesOf({ later: after("never"), never: after("later") })).toEqual([
      "spec.steps: cycle: later -> never -> later",
    ]);
  });

  test("nothing of a finished workflow", async () => {
    await kubelet.endAll();
    expect(await causesOf({ added: box })).toEqual(["spec.steps: cannot update completed workflow"]);
    expect((await edit({ spec: { ttlSecondsAfterFinished: 3_600 }, metadata: { labels: { a: "b" } } })).status).toBe(
      200,
    );
  });
});

describe("line 15: Jobs of others", () => {
  const spec = { template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] } } };
  const create = async (metadata: object) => {
    const body = { apiVersion: "batch/v1", kind: "Job", metadata, spec };
    const answer = await plane.api.ask("POST", jobs, { body });
    if (answer.status !== 201) throw new Error(answer.text);
    await plane.settle();
  };

  test("with the labels of a child is ignored, and told of", async () => {
    await plane.create("wf", { steps: { a: box } });
    const [child] = await jobsOf(plane);
    if (child === undefined) throw new Error("the step has no Job");
    await create({ name: "foreign", labels: labelsOf(child) });
    const foreign = `${jobs}/foreign/status`;
    const conditions = [{ type: "Failed", status: "True", reason: "Foreign" }];
    await plane.api.ask("PATCH", foreign, { bytes: JSON.stringify({ status: { conditions } }), headers: types.merge });
    await plane.pass(2_000);
    expect(await plane.phases("wf")).toEqual({ a: "Running" });
    expect((await reasonsOf("wf")).filter((reason) => reason === "UnexpectedChild")).toHaveLength(1);
    await kubelet.endAll();
    expect(await plane.status("wf")).toMatchObject({ phase: "Succeeded" });
    expect(await codeOf(`${jobs}/foreign`)).toBe(200);
  });

  test("with the exact name of a child is a NameConflict", async () => {
    const held = { suspend: true, steps: { a: box, b: box } };
    await plane.create("wf", held);
    // Whoever has seen the run can tell the names of its children before they exist.
    const uid = String((await plane.get(`${workflows}/wf`))["metadata"]?.["uid"]);
    const name = childName({ workflow: "wf", uid, step: "a", attempt: 1 });
    await create({ name });
    await edit({ spec: { suspend: false } });
    await plane.pass(1_000);
    expect(await plane.phases("wf")).toMatchObject({ a: "Failed/NameConflict" });
    expect(await codeOf(`${jobs}/${name}`)).toBe(200);
    expect(stepsOf(await jobsOf(plane))).toEqual(["b"]);
  });
});

describe("line 16: a Job that is deleted by hand", () => {
  const remove = async () => {
    const name = String((await jobsOf(plane)).at(-1)?.["metadata"]?.["name"]);
    await plane.api.ask("DELETE", `${jobs}/${name}?propagationPolicy=Background`);
    await plane.pass(500);
    await kubelet.running();
  };

  test("fails its step", async () => {
    await plane.create("wf", { steps: { a: box } });
    await plane.pass(1_000);
    await remove();
    expect(await plane.phases("wf")).toEqual({ a: "Failed/ChildDeleted" });
  });

  test("is tried again where Lost is among what is", async () => {
    await plane.create("wf", { steps: { a: { ...box, retry: { limit: 1, initialSeconds: 1, on: ["Lost"] } } } });
    await plane.pass(1_000);
    await remove();
    await plane.pass(5_000);
    expect((await kubelet.running()).map(({ attempt }) => attempt)).toEqual([2]);
    await kubelet.endAll();
    expect(await plane.phases("wf")).toEqual({ a: "Succeeded" });
  });

  test("is not where Lost is not among them", async () => {
    await plane.create("wf", { steps: { a: { ...box, retry: { limit: 1, initialSeconds: 1, on: ["Error"] } } } });
    await plane.pass(1_000);
    await remove();
    await plane.pass(5_000);
    expect(await plane.phases("wf")).toEqual({ a: "Failed/ChildDeleted" });
  });
});

describe("line 30: times to live", () => {
  test("that of a workflow deletes it and its Jobs", async () => {
    await plane.create("wf", { ttlSecondsAfterFinished: 30, steps: { a: box, b: after("a") } });
    await kubelet.endAll();
    await plane.pass(28_000);
    expect(await codeOf(`${workflows}/wf`)).toBe(200);
    expect(await jobsOf(plane)).toHaveLength(2);
    await plane.pass(5_000);
    expect(await codeOf(`${workflows}/wf`)).toBe(404);
    expect(await jobsOf(plane)).toEqual([]);
  });

  test("of 0 in the template of a Job loses no outcome", async () => {
    const podSpec = { restartPolicy: "Never", containers: [{ name: "main", image: "busybox" }] };
    const jobTemplate = { spec: { ttlSecondsAfterFinished: 0, template: { spec: podSpec } } };
    await plane.create("wf", {
      steps: { a: { jobTemplate, outputs: { x: {} } }, b: { ...after("a"), when: 'steps.a.outputs.x == "1"' } },
    });
    await kubelet.end("a", { message: "x=1" });
    await plane.pass(2_000);
    expect(stepsOf(await jobsOf(plane))).toEqual(["b"]);
    await kubelet.endAll();
    expect(await plane.phases("wf")).toEqual({ a: "Succeeded", b: "Succeeded" });
    expect(conditionIn(await plane.status("wf"), "Complete")).toMatchObject({ status: "True" });
  });
});

test("a workflow of the same name never meets children of the one before", async () => {
  await plane.create("wf", { steps: { a: box } });
  await plane.api.ask("DELETE", `${workflows}/wf?propagationPolicy=Orphan`);
  await plane.pass(2_000);
  await plane.create("wf", { steps: { a: box } });
  expect(await jobsOf(plane)).toHaveLength(2);
  expect(await plane.phases("wf")).toEqual({ a: "Starting" });
});
