import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { carriesLabel, leavesAnnotation, takesAnnotation } from "#kernel/artifacts/index.ts";
import { asJson, Job, Node, Pod } from "#kernel/model/index.ts";
import { describeWorkflow } from "./describe.ts";
import { graphOfWorkflow } from "./graph.ts";
import { Workflow, type WorkflowSpec } from "./kinds.ts";
import { lintWorkflow } from "./lint.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import { resubmission } from "./resubmit.ts";
import { Harness, namespace } from "./testing/harness.ts";
import { validateWorkflow } from "./validate.ts";

let harness: Harness;
beforeEach(async () => {
  harness = new Harness({ types: [Node] });
  await addNode({ [carriesLabel]: "true" });
});
afterEach(() => harness.close());

const addNode = (labels: Readonly<Record<string, string>>) =>
  harness.store.create(Node, { apiVersion: "v1", kind: "Node", metadata: { name: "here", labels } });

const container = { image: "i", command: ["true"] };
const digest = `sha256:${"a".repeat(64)}`;
const dist = { digest, size: 7, archive: "tar.gz" };

const spec = (more: Partial<WorkflowSpec["steps"]> = {}): WorkflowSpec => ({
  steps: {
    build: { container, outputArtifacts: [{ name: "dist" }] },
    ship: {
      container,
      dependencies: ["build"],
      inputs: { artifacts: [{ name: "app", from: "build/dist", path: "app/dist" }] },
    },
    ...more,
  },
});

/** Annotations of the Pods of a step, as data. */
async function told(step: string, name: string): Promise<unknown> {
  const { spec: found } = asJson(await harness.jobOf(step)) as unknown as {
    readonly spec: { readonly template: { readonly metadata: { readonly annotations?: Record<string, string> } } };
  };
  const text = found.template.metadata.annotations?.[name];
  return text === undefined ? undefined : JSON.parse(text);
}

const artifactsOf = async (step: string) => (await harness.status()).statuses?.[step]?.artifacts;

describe("a step that leaves artifacts", () => {
  test("has them in its status, and hands them to those that take them", async () => {
    await harness.create(spec());
    expect(await told("build", leavesAnnotation)).toEqual([{ name: "dist", path: "dist" }]);
    await harness.end("build", { left: { artifacts: { dist } } });
    expect(await artifactsOf("build")).toEqual({ dist });
    expect(await told("ship", takesAnnotation)).toEqual([{ ...dist, name: "app", path: "app/dist" }]);
    await harness.end("ship");
    expect((await harness.status()).phase).toBe("Succeeded");
    const text = describeWorkflow(await harness.workflow(), harness.clock.now());
    expect(text).toContain(`build/dist  7 bytes  ${digest}`);
  });

  test("fails with the reason of whoever could not store them, and is tried again", async () => {
    const build = { container, outputArtifacts: [{ name: "dist" }], retry: { limit: 1, initialSeconds: 1 } };
    await harness.create(spec({ build }));
    const problem = { reason: "ArtifactMissing", message: 'artifact "dist": nothing is at dist of $SLIPWAY_ARTIFACTS' };
    await harness.end("build", { left: { problem } });
    expect((await harness.status()).statuses?.["build"]?.failures).toMatchObject([{ attempt: 1, ...problem }]);
    await harness.pass(2_000);
    await harness.end("build", { left: { artifacts: { dist } } });
    expect(await artifactsOf("build")).toEqual({ dist });
  });

  test("fails when nobody has stored anything, or not what is no option", async () => {
    await harness.create(spec());
    await harness.end("build");
    expect(await harness.phases()).toEqual({ build: "Failed/ArtifactMissing", ship: "Skipped/DependencyFailed" });
  });

  test("is not started where nobody would carry them", async () => {
    await harness.store.delete({ type: Node, name: "here" });
    await harness.create(spec());
    expect(await harness.phases()).toEqual({ build: "Failed/ArtifactsNotCarried", ship: "Skipped/DependencyFailed" });
    expect(await harness.jobs()).toEqual([]);
  });

  test("loses them when it runs again", async () => {
    await harness.create(spec());
    await harness.end("build", { left: { artifacts: { dist } } });
    await harness.end("ship");
    await harness.act("retry", { steps: ["build"] });
    expect(await artifactsOf("build")).toBeUndefined();
    await harness.end("build", { left: { artifacts: { dist: { ...dist, size: 8 } } } });
    expect(await told("ship", takesAnnotation)).toMatchObject([{ size: 8 }]);
  });
});

describe("the items of a fan-out", () => {
  const other = { digest: `sha256:${"b".repeat(64)}`, size: 9 };
  const build = { container, forEach: { items: ["x", "y", "z"] }, outputArtifacts: [{ name: "dist", optional: true }] };
  const taking = (from: string) => ({
    container,
    dependencies: ["build"],
    inputs: { artifacts: [{ name: "app", from, path: "in" }] },
  });

  test("leave artifacts by their index, for those that take one or all of them", async () => {
    await harness.create({
      steps: { build, all: taking("build/dist"), one: taking("build/dist/2"), lacks: taking("build/dist/1") },
    });
    await harness.endItem("build", 2, { left: { artifacts: { dist: other } } });
    await harness.endItem("build", 0, { left: { artifacts: { dist } } });
    await harness.endItem("build", 1, { left: { artifacts: {} } });
    expect(await artifactsOf("build")).toEqual({ "dist/0": dist, "dist/2": other });
    expect(await told("all", takesAnnotation)).toEqual([
      { ...other, name: "app", path: "in/2" },
      { ...dist, name: "app", path: "in/0" },
    ]);
    expect(await told("one", takesAnnotation)).toEqual([{ ...other, name: "app", path: "in" }]);
    expect((await harness.phases())["lacks"]).toBe("Skipped/InputUnavailable");
    expect(describeWorkflow(await harness.workflow(), harness.clock.now())).toContain("build/dist/2");
  });

  test("keep what they have left when only others of them are tried again", async () => {
    await harness.create({ steps: { build: { ...build, outputArtifacts: [{ name: "dist" }] } } });
    await harness.endItem("build", 0, { left: { artifacts: { dist } } });
    await harness.endItem("build", 1, { left: { artifacts: { dist } } });
    await harness.endItem("build", 2, { exitCode: 1 });
    await harness.act("retry");
    await harness.endItem("build", 2, { left: { artifacts: { dist: other } } });
    expect(await artifactsOf("build")).toEqual({ "dist/0": dist, "dist/1": dist, "dist/2": other });
  });

  test("leave at most what the status has room for, and are named by a number", async () => {
    const leaves = Array.from({ length: 32 }, (_, index) => ({ name: `a${index}` }));
    const items = Array.from({ length: 32 }, (_, index) => index);
    await harness.create({ steps: { build: { ...build, forEach: { items }, outputArtifacts: leaves } } });
    expect((await harness.status()).statuses?.["build"]).toMatchObject({
      reason: "TooManyItems",
      message: "1024 artifacts of 32 items, at most 1000 are kept",
    });
    await harness.create({ steps: { build, one: taking("build/dist/last") } }, "named");
    expect(JSON.stringify((await harness.status("named")).conditions)).toContain("expected STEP/ARTIFACT");
  });
});

describe("a step that takes artifacts", () => {
  const build = { container, outputArtifacts: [{ name: "dist", optional: true }] };
  const take = (optional: boolean) => ({
    container,
    dependencies: ["build"],
    inputs: { artifacts: [{ name: "app", from: "build/dist", optional }] },
  });

  test("is skipped without one it needs, and runs without one it does not", async () => {
    await harness.create(spec({ build, ship: take(false), look: take(true) }));
    await harness.end("build", { left: { artifacts: {} } });
    expect(await harness.phases()).toMatchObject({ build: "Succeeded", ship: "Skipped/InputUnavailable" });
    expect(await told("look", takesAnnotation)).toEqual([]);
  });

  test("of every item of a fan-out has them", async () => {
    await harness.create(spec({ ship: { ...spec().steps?.["ship"], forEach: { items: [1, 2] } } }));
    await harness.end("build", { left: { artifacts: { dist } } });
    const jobs = (await harness.jobs()).filter(({ metadata }) => metadata.labels?.["slipway.dev/step"] === "ship");
    expect(jobs).toHaveLength(2);
    for (const one of jobs) expect(JSON.stringify(one)).toContain(digest);
  });

  test("has those of a run that went before, when that is reused or went on", async () => {
    await harness.create(spec());
    await harness.end("build", { left: { artifacts: { dist } } });
    await harness.end("ship", { exitCode: 1 });
    const { metadata, ...rest } = resubmission(await harness.workflow(), { reuse: true });
    const { generateName: _completed, ...kept } = metadata;
    await harness.store.create(Workflow, { ...rest, metadata: { ...kept, namespace, name: "again" } });
    await harness.settle();
    expect((await harness.status("again")).statuses?.["build"]).toMatchObject({
      reason: "Reused",
      artifacts: { dist },
    });
    await harness.act("retry");
    expect(await artifactsOf("build")).toEqual({ dist });
    expect(await told("ship", takesAnnotation)).toMatchObject([{ digest }]);
  });
});

test("a Pod that could not have what it takes gives the step its reason", async () => {
  await harness.create(spec());
  await harness.end("build", { left: { artifacts: { dist } } });
  const found = await harness.jobOf("ship");
  const pod = await harness.store.create(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "ship-pod", namespace, labels: found.metadata.labels ?? {} },
  });
  const lack = { reason: "ArtifactMissing", message: 'artifact "app": nothing of the digest is stored any more' };
  await harness.store.updateStatus(Pod, { ...pod, status: { phase: "Failed", ...lack } });
  const conditions = [
    { type: "Failed", status: "True", reason: "BackoffLimitExceeded", lastTransitionTime: "2026-01-01T00:00:00Z" },
  ];
  await harness.store.updateStatus(Job, { ...found, status: { conditions } });
  await harness.settle();
  expect((await harness.status()).statuses?.["ship"]).toMatchObject({ phase: "Failed", ...lack });
});

test("the graph tells what files go in and out", async () => {
  await harness.create(spec());
  const { nodes } = graphOfWorkflow(await harness.workflow());
  expect(nodes).toMatchObject([
    { id: "build", leaves: "dist" },
    { id: "ship", takes: "build/dist" },
  ]);
});

describe("admission", () => {
  const problemsOf = (steps: JsonObject): readonly string[] =>
    validateWorkflow({
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "wf", namespace },
      spec: { activeDeadlineSeconds: 1, steps },
    }).problems.map(({ path, message }) => `${path}: ${message}`);
  const leaving = { container, outputArtifacts: [{ name: "dist" }] };
  const taking = (from: string, more: JsonObject = {}): JsonObject => ({
    container,
    dependencies: ["build"],
    inputs: { artifacts: [{ name: "app", from, ...more }] },
  });

  test.each([
    ["biuld/dist", 'no step "biuld", did you mean "build"'],
    ["build/dits", 'no artifact "dits" of "build", did you mean "dist"'],
    ["other/x", 'step "ship" does not depend on "other", so its artifacts are not there yet'],
    ["build", 'expected STEP/ARTIFACT, found "build"'],
    [
      "steps.build.artifacts.dist",
      'expected STEP/ARTIFACT, found "steps.build.artifacts.dist", did you mean "build/dist"',
    ],
  ])("refuses %s with its place", (from, message) => {
    const found = problemsOf({ build: leaving, other: leaving, ship: taking(from) });
    expect(found).toEqual([`spec.steps.ship.inputs.artifacts[0].from: ${message}`]);
  });

  test("takes artifacts of what is depended on by way of others, and in final steps of all", () => {
    expect(
      problemsOf({
        build: leaving,
        ship: taking("build/dist"),
        last: { ...taking("build/dist"), dependencies: ["ship"] },
      }),
    ).toEqual([]);
  });

  test.each(["/etc", "../x", "a/./b", "a//b", "a/"])("refuses the path %s", (path) => {
    const found = problemsOf({
      build: { container, outputArtifacts: [{ name: "dist", path }] },
      ship: taking("build/dist", { path }),
    });
    expect(found).toHaveLength(2);
    for (const one of found) expect(one).toContain("expected a relative path below $SLIPWAY_ARTIFACTS");
  });

  test("lint tells of what nobody takes, and of what is needed by chance", () => {
    const found = collectProblems();
    const steps = {
      build: { container, outputArtifacts: [{ name: "dist", optional: true }, { name: "log" }] },
      ship: taking("build/dist"),
    };
    const object = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Workflow",
      metadata: { name: "wf", namespace },
      spec: { activeDeadlineSeconds: 1, steps },
    };
    const { compiled } = validateWorkflow(object);
    if (compiled !== undefined) lintWorkflow(compiled, object, found);
    expect(found.problems.map(({ path, code, message }) => [path, code, message])).toEqual([
      ["spec.steps.build.outputArtifacts[1]", "unused-artifact", 'no step takes the artifact "log"'],
      [
        "spec.steps.ship.inputs.artifacts[0]",
        "optional-artifact",
        'build may succeed without "dist", and then this step is skipped',
      ],
    ]);
  });

  test("bounds how many there are, in a step and in all", () => {
    const leaves = (count: number) => ({
      container,
      outputArtifacts: Array.from({ length: count }, (_, n) => ({ name: `a${n}` })),
    });
    expect(problemsOf({ build: leaves(33) })).toEqual([
      "spec.steps.build.outputArtifacts: expected at most 32 artifacts, found 33",
    ]);
    const many = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`s${n}`, leaves(32)]));
    expect(problemsOf(many)).toEqual(["spec.steps: expected at most 1000 artifacts in all, found 1024"]);
  });

  test("refuses artifacts of what runs no Pod, and one inside of the other", () => {
    const both = [
      { name: "one", from: "build/dist", path: "a" },
      { name: "two", from: "build/dist", path: "a/b" },
    ];
    expect(
      [
        ...problemsOf({
          build: leaving,
          pause: { wait: { seconds: 1 }, outputArtifacts: [{ name: "x" }] },
          ship: { container, dependencies: ["build"], inputs: { artifacts: both } },
        }),
      ].sort(),
    ).toEqual([
      "spec.steps.pause.outputArtifacts: only jobTemplate and container steps take and leave artifacts: they run Pods",
      'spec.steps.ship.inputs.artifacts[1]: is put at "a/b", where "one" is put, too',
    ]);
  });
});
