import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, jsonEquals, type JsonObject } from "#lib/base/index.ts";
import { type ApiClient, Metrics } from "#kernel/kit/index.ts";
import { carriesLabel } from "#kernel/artifacts/index.ts";
import { Node, type Stored } from "#kernel/model/index.ts";
import { Workflow, type WorkflowSpec } from "../kinds.ts";
import { Harness, namespace } from "../testing/harness.ts";
import { CacheEntry } from "./kind.ts";
import { keptFor, mostEntries } from "./upkeep.ts";

let harness: Harness;
let metrics: Metrics;
beforeEach(() => {
  metrics = new Metrics();
  harness = new Harness({ metrics });
});
afterEach(() => harness.close());

const script = (command: string, more: JsonObject = {}) => ({
  container: { image: "i", command: ["sh", "-c", command] },
  ...more,
});

/** One step that builds a tag, and one that uses its output. */
const build = (cache: JsonObject = {}, more: JsonObject = {}): WorkflowSpec => ({
  params: [{ name: "tag", default: "1" }],
  steps: {
    build: script("build ${{ params.tag }}", { outputs: { image: {} }, cache, ...more }),
    deploy: script("deploy ${{ steps.build.outputs.image }}", { dependencies: ["build"] }),
  },
});

const wrote = { message: '{"image":"app@1"}' };
const ofBuild = (step: string) => (step === "build" ? wrote : {});
const entries = async (): Promise<readonly Stored<CacheEntry>[]> =>
  (await harness.store.list<CacheEntry>(CacheEntry, { namespace })).items;
const entry = async (): Promise<Stored<CacheEntry>> => {
  const [only, ...others] = await entries();
  if (only === undefined || others.length > 0) throw new Error("expected one entry");
  return only;
};
const workflowsWithJobs = async (): Promise<readonly string[]> =>
  (await harness.jobs()).map(({ metadata }) => metadata.labels?.["slipway.dev/workflow"] ?? "").sort();

/** What a counter has counted under exactly these labels. */
function counted(name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const family = metrics.collect().find((one) => one.name === name);
  const samples = family === undefined || family.type === "histogram" ? [] : family.samples;
  return samples.find((sample) => jsonEquals(sample.labels, labels))?.value;
}

/** Runs a workflow to its end. */
async function run(spec: WorkflowSpec, name: string): Promise<void> {
  await harness.create(spec, name);
  await harness.endAll(ofBuild);
}

describe("a step with a cache", () => {
  test("takes the result of one with the same inputs, in the write that starts the run, without a child", async () => {
    await run(build(), "first");
    harness.statusWrites = 0;
    await harness.create(build(), "second");
    expect(await harness.phases("second")).toEqual({ build: "Succeeded/Cached", deploy: "Starting" });
    expect(harness.statusWrites).toBe(1);
    const { statuses } = await harness.status("second");
    expect(statuses?.["build"]).toMatchObject({
      complete: true,
      message: 'result of step "build" of Workflow "first"',
      outputs: { image: "app@1" },
    });
    expect(statuses?.["build"]).not.toHaveProperty("reference");
    await harness.endAll();
    expect(await workflowsWithJobs()).toEqual(["first", "first", "second"]);
    expect((await harness.status("second")).phase).toBe("Succeeded");
    const told = harness.events.filter(({ reason }) => reason === "StepCached");
    expect(told.map(({ note }) => note)).toEqual(['step "build" has the result of step "build" of Workflow "first"']);
    expect(counted("slipway_workflow_cache_lookups_total", { outcome: "hit" })).toBe(1);
    const cached = { kind: "container", outcome: "Succeeded", reason: "Cached" };
    expect(counted("slipway_workflow_steps_total", cached)).toBe(1);
  });

  test("is known by the reference of a secret parameter, and another key is another input", async () => {
    const spec = (key: string): WorkflowSpec => ({
      params: [{ name: "token", secret: true }],
      arguments: { token: { secretKeyRef: { name: "keys", key } } },
      steps: {
        build: {
          container: { image: "i", env: [{ name: "TOKEN", valueFrom: "${{ params.token }}" }] },
          outputs: { image: {} },
          cache: {},
        },
      },
    });
    await run(spec("npm"), "first");
    await harness.create(spec("npm"), "same");
    expect(await harness.phases("same")).toEqual({ build: "Succeeded/Cached" });
    await harness.create(spec("pypi"), "other");
    expect(await harness.phases("other")).toEqual({ build: "Starting" });
  });

  test("is carried out when the run has no room for the outputs of its result, and fails by that", async () => {
    const numbers = Array.from({ length: 65 }, (_, n) => n);
    const step = (n: number) => script(`build ${n}`, { outputs: { image: {} }, cache: {} });
    const spec = (...which: readonly number[]): WorkflowSpec => ({
      steps: Object.fromEntries(which.map((n) => [`s${n}`, step(n)])),
    });
    // 64 of them are 255 KiB.
    const large = () => ({ message: `{"image":"${"v".repeat(4_069)}"}` });
    for (const [name, which] of [
      ["low", numbers.slice(0, 40)],
      ["high", numbers.slice(40)],
    ] as const) {
      await harness.create(spec(...which), name);
      await harness.endAll(large);
    }
    await harness.create(spec(...numbers), "all");
    const taken = Object.values(await harness.phases("all")).sort();
    expect(taken).toEqual(["Starting", ...Array<string>(64).fill("Succeeded/Cached")]);
    await harness.endAll(large);
    expect(Object.values(await harness.phases("all"))).toContain("Failed/OutputTooLarge");
  });

  test("stores what it was carried out with, its outputs and where they are from", async () => {
    await run(build(), "first");
    const { spec, metadata } = await entry();
    const { uid } = (await harness.workflow("first")).metadata;
    expect(metadata.name).toMatch(/^[a-z2-7]{51}$/);
    expect(spec).toMatchObject({
      from: { workflow: "first", uid, step: "build" },
      outputs: { image: "app@1" },
      inputs: { "container.command[2]": "build 1", "container.image": "i", writer: "" },
    });
  });

  test("runs when any input differs: the body, a parameter in it, or what its outputs are made from", async () => {
    await run(build(), "first");
    const changed: readonly WorkflowSpec[] = [
      { ...build(), arguments: { tag: "2" } },
      build({}, { container: { image: "other", command: ["sh", "-c", "build 1"] } }),
      build({}, { outputs: { image: { expression: "result.image + params.tag" } } }),
    ];
    for (const [index, spec] of changed.entries()) {
      await harness.create(spec, `changed-${index}`);
      expect((await harness.phases(`changed-${index}`))["build"]).toBe("Starting");
    }
  });

  test("does not look at names: of the workflow, of the step, for people", async () => {
    await run(build(), "first");
    const { build: step } = build().steps ?? {};
    await harness.create(
      { params: build().params ?? [], steps: { other: { ...step, displayName: "Other" } } },
      "second",
    );
    expect(await harness.phases("second")).toEqual({ other: "Succeeded/Cached" });
  });

  test("takes nothing that is older than maxAgeSeconds, and its result replaces the older one", async () => {
    await run(build({ maxAgeSeconds: 60 }), "first");
    const { uid } = (await entry()).metadata;
    await harness.pass(60_000);
    await run(build({ maxAgeSeconds: 60 }), "second");
    expect(await workflowsWithJobs()).toEqual(["first", "first", "second", "second"]);
    expect(counted("slipway_workflow_cache_lookups_total", { outcome: "stale" })).toBe(1);
    const { metadata, spec } = await entry();
    expect(metadata.uid).not.toBe(uid);
    expect(spec.from.workflow).toBe("second");
    await harness.create(build({ maxAgeSeconds: 60 }), "third");
    expect((await harness.phases("third"))["build"]).toBe("Succeeded/Cached");
  });

  test("stores no failure, and asks again for each attempt", async () => {
    const retried = build({}, { retry: { limit: 1, initialSeconds: 10 } });
    await harness.create(retried, "first");
    await harness.end("build", { exitCode: 1 });
    expect(await entries()).toEqual([]);
    await harness.create(build(), "second");
    const others = (await harness.jobs()).filter(
      ({ metadata }) => metadata.labels?.["slipway.dev/workflow"] === "second",
    );
    expect(others).toHaveLength(1);
    await harness.endAll(ofBuild);
    await harness.pass(12_000);
    const { statuses } = await harness.status("first");
    expect(statuses?.["build"]).toMatchObject({ phase: "Succeeded", reason: "Cached", attempt: 2 });
  });

  test("is carried out again when a person retries it, and its new result is kept", async () => {
    await run(build(), "wf");
    const { uid } = (await entry()).metadata;
    await harness.act("retry", { steps: ["build"] });
    expect((await harness.phases())["build"]).toBe("Starting");
    await harness.endAll(ofBuild);
    expect((await entry()).metadata.uid).not.toBe(uid);
  });

  test("fails where its key cannot be told", async () => {
    const spec: WorkflowSpec = {
      params: [{ name: "all", type: "object", default: {} }],
      steps: { a: script("x", { cache: { key: "${{ params.all.missing }}" } }) },
    };
    await harness.create(spec);
    expect(await harness.phases()).toEqual({ a: "Failed/ExpressionError" });
    expect(await harness.jobs()).toEqual([]);
  });
});

test("a chain of results is one write, and goes on beyond the first step that has none", async () => {
  const chain = (last: string): WorkflowSpec => ({
    steps: {
      a: script("a", { cache: {} }),
      b: script("b", { cache: {}, dependencies: ["a"] }),
      c: script(last, { cache: {}, dependencies: ["b"] }),
    },
  });
  await run(chain("c"), "first");
  harness.statusWrites = 0;
  await harness.create(chain("c"), "all");
  expect(harness.statusWrites).toBe(1);
  expect((await harness.status("all")).phase).toBe("Succeeded");
  await harness.create(chain("other"), "some");
  expect(await harness.phases("some")).toEqual({ a: "Succeeded/Cached", b: "Succeeded/Cached", c: "Starting" });
});

describe("a key of one's own", () => {
  test("stands for all inputs, and may be made of them", async () => {
    const keyed = (image: string, tag = "1"): WorkflowSpec => ({
      ...build({ key: "app-${{ params.tag }}" }, { container: { image, command: ["build"] } }),
      arguments: { tag },
    });
    await run(keyed("a"), "first");
    expect((await entry()).spec).toMatchObject({ key: "app-1", inputs: { key: "app-1" } });
    await harness.create(keyed("b"), "second");
    expect((await harness.phases("second"))["build"]).toBe("Succeeded/Cached");
    await harness.create(keyed("a", "2"), "third");
    expect((await harness.phases("third"))["build"]).toBe("Starting");
  });

  test("is not enough for a step that declares an output the result does not have", async () => {
    await run(build({ key: "k" }), "first");
    await harness.create(build({ key: "k" }, { outputs: { image: {}, digest: { default: "" } } }), "second");
    expect((await harness.phases("second"))["build"]).toBe("Starting");
  });
});

describe("a fan-out", () => {
  const each = (items: readonly string[], more: JsonObject = {}): WorkflowSpec => ({
    steps: { build: script("build ${{ item }}", { forEach: { items, ...more }, outputs: { image: {} }, cache: {} }) },
  });
  const stepOf = async (name: string) => (await harness.status(name)).statuses?.["build"] ?? {};

  test("has a key for each item, wherever the item stands", async () => {
    await run(each(["a", "b"]), "first");
    expect((await entries()).map(({ spec }) => spec.inputs["item"] ?? "").sort()).toEqual(["a", "b"]);
    await harness.create(each(["new", "b", "a"]), "second");
    expect((await stepOf("second")).items?.states).toBe("1R2S");
    expect(await harness.active()).toEqual(["build"]);
    await harness.endAll(ofBuild);
    expect(await stepOf("second")).toMatchObject({
      phase: "Succeeded",
      outputs: { image: ["app@1", "app@1", "app@1"] },
    });
    const told = harness.events.filter(({ reason }) => reason === "StepCached").map(({ note }) => note);
    expect(told).toEqual(['2 items of step "build" took an earlier result']);
  });

  test("of results alone ends at once, however few run at a time", async () => {
    const items = Array.from({ length: 40 }, (_, index) => `item-${index}`);
    await run(each(items), "first");
    await harness.create(each(items, { maxParallel: 1 }), "second");
    expect((await stepOf("second")).items?.states).toBe("40S");
    expect((await harness.status("second")).phase).toBe("Succeeded");
  });
});

test("a fan-out of a thousand asks for each of its items once", async () => {
  const items = Array.from({ length: 1_200 }, (_, index) => `item-${index}`);
  const step = script("build ${{ item }}", { forEach: { items, limit: 1_200, maxParallel: 1_000 }, cache: {} });
  await harness.create({ steps: { build: step } });
  expect(counted("slipway_workflow_cache_lookups_total", { outcome: "miss" })).toBe(1_000);
});

describe("files", () => {
  const digestOf = (letter: string) => `sha256:${letter.repeat(64)}`;
  const passing: WorkflowSpec = {
    steps: {
      make: { ...script("make"), outputArtifacts: [{ name: "dist" }] },
      pack: {
        ...script("pack", { cache: {} }),
        dependencies: ["make"],
        inputs: { artifacts: [{ name: "app", from: "make/dist" }] },
        outputArtifacts: [{ name: "tarball" }],
      },
    },
  };
  const runWith = async (letter: string, name: string) => {
    await harness.create(passing, name);
    const dist = { digest: digestOf(letter), size: 1 };
    const tarball = { digest: digestOf("f"), size: 2 };
    await harness.endAll((step) => ({ left: { artifacts: step === "make" ? { dist } : { tarball } } }));
    return (await harness.status(name)).statuses?.["pack"];
  };
  beforeEach(async () => {
    await harness.close();
    harness = new Harness({ types: [Node] });
    const metadata = { name: "here", labels: { [carriesLabel]: "true" } };
    await harness.store.create(Node, { apiVersion: "v1", kind: "Node", metadata });
  });

  test("that a step takes are inputs by what is in them, and those it left come with its result", async () => {
    expect(await runWith("a", "first")).not.toHaveProperty("reason");
    expect(await runWith("a", "second")).toMatchObject({
      reason: "Cached",
      artifacts: { tarball: { digest: digestOf("f"), size: 2 } },
    });
    expect(await runWith("b", "third")).not.toHaveProperty("reason");
  });
});

describe("whose result it is", () => {
  const writtenBy = (user: string, name: string): Workflow => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: {
      name,
      namespace,
      annotations: { "slipway.dev/acts-for": JSON.stringify({ user, groups: [] }) },
    },
    spec: build(),
  });
  const runAs = async (user: string, name: string): Promise<void> => {
    await harness.store.create<Workflow>(Workflow, writtenBy(user, name));
    await harness.settle();
  };

  test("what one writer's step has given is not taken for another's", async () => {
    await runAs("ann", "first");
    await harness.endAll(ofBuild);
    await runAs("bob", "bobs");
    expect((await harness.phases("bobs"))["build"]).toBe("Starting");
    await runAs("ann", "anns");
    expect((await harness.phases("anns"))["build"]).toBe("Succeeded/Cached");
  });

  test("an entry that somebody wrote is never taken", async () => {
    await run(build(), "first");
    const { metadata, spec, ...rest } = await entry();
    await harness.store.delete({ type: CacheEntry, namespace, name: metadata.name });
    const forged = { ...rest, metadata: { name: metadata.name, namespace }, spec: { ...spec, writtenBy: "mallory" } };
    await harness.store.create<CacheEntry>(CacheEntry, forged);
    await harness.create(build(), "second");
    expect((await harness.phases("second"))["build"]).toBe("Starting");
    await harness.endAll(ofBuild);
    expect((await entry()).spec.writtenBy).toBeUndefined();
  });
});

test("a result whose inputs have changed while it ran is not stored", async () => {
  const labelled: WorkflowSpec = { steps: { a: script("${{ workflow.labels.env }}", { cache: {} }) } };
  await harness.store.create<Workflow>(Workflow, {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "wf", namespace, labels: { env: "test" } },
    spec: labelled,
  });
  await harness.settle();
  await harness.store.patch(
    { type: Workflow, namespace, name: "wf" },
    { type: "merge", body: { metadata: { labels: { env: "live" } } } },
  );
  await harness.endAll();
  expect((await harness.status()).phase).toBe("Succeeded");
  expect(await entries()).toEqual([]);
});

test("a result that cannot be stored is told, and the step has succeeded all the same", async () => {
  await harness.close();
  const refusing = (client: ApiClient): ApiClient =>
    new Proxy(client, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== "function") return value;
        const call = value.bind(target);
        if (name !== "create") return call;
        return (type: { kind: string }, ...more: readonly unknown[]) =>
          type.kind === "CacheEntry" ? Promise.reject(new Error("no room")) : call(type, ...more);
      },
    });
  harness = new Harness({ wrap: refusing, metrics: new Metrics() });
  await run(build(), "first");
  expect((await harness.status("first")).phase).toBe("Succeeded");
  const told = harness.events.filter(({ reason }) => reason === "CacheNotStored");
  expect(told.map(({ note }) => note)).toEqual(['the result of step "build" is not kept for others: no room']);
});

describe("entries", () => {
  const plain = (name: string, storedTime: string): CacheEntry => ({
    apiVersion: "slipway.dev/v1alpha1",
    kind: "CacheEntry",
    metadata: { name, namespace },
    spec: { from: { workflow: "w", uid: "u", step: "s" }, storedTime, inputs: {} },
  });

  test("go after thirty days", async () => {
    const storedTime = new Date(harness.clock.now() - keptFor + 60_000).toISOString();
    await harness.store.create<CacheEntry>(CacheEntry, plain("old", storedTime));
    await harness.settle();
    expect(await entries()).toHaveLength(1);
    await harness.pass(60_000);
    expect(await entries()).toEqual([]);
  });

  test("of a namespace are bounded: the oldest go", async () => {
    const clock = new FakeClock();
    await harness.close();
    harness = new Harness({ clock });
    const time = (second: number) => new Date(clock.now() - 10_000_000 + second * 1000).toISOString();
    for (let index = 0; index < mostEntries + 3; index++)
      await harness.store.create<CacheEntry>(CacheEntry, plain(`e${index}`, time(index)));
    await harness.settle();
    const names = (await entries()).map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(mostEntries);
    expect(names).not.toContain("e2");
    expect(names).toContain("e3");
  });
});
