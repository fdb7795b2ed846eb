import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import type { StepStatus, WorkflowSpec } from "./kinds.ts";
import { Harness, job } from "./testing/harness.ts";
import { viewWorkflow } from "./view.ts";

let harness: Harness;
beforeEach(() => {
  harness = new Harness();
});
afterEach(() => harness.close());

const stepOf = async (key = "each"): Promise<StepStatus> => (await harness.status()).statuses?.[key] ?? {};
const statesOf = async (): Promise<string | undefined> => (await stepOf()).items?.states;

/** The environment of a Job's container, by name. */
function environmentOf(found: Stored): Record<string, JsonValue | undefined> {
  const containers = at(asJson(found), "spec", "template", "spec")["containers"];
  const [container] = Array.isArray(containers) ? containers : [];
  const env = isJsonObject(container) && Array.isArray(container["env"]) ? container["env"].filter(isJsonObject) : [];
  return Object.fromEntries(env.flatMap(({ name, value }) => (typeof name === "string" ? [[name, value]] : [])));
}

function at(object: JsonObject, ...path: readonly string[]): JsonObject {
  return path.reduce<JsonObject>((value, name) => {
    const next = value[name];
    return isJsonObject(next) ? next : {};
  }, object);
}

const each = (forEach: NonNullable<WorkflowSpec["steps"]>[string]["forEach"], more: JsonObject = {}): WorkflowSpec => ({
  steps: { each: job({ forEach, ...more }) },
});

describe("forEach", () => {
  test("creates one Job per item, named and labelled by its index, with the item in its environment", async () => {
    await harness.create(each({ items: ["dns", { port: 53 }] }));
    const jobs = (await harness.jobs()).toSorted((a, b) =>
      (a.metadata.labels?.["slipway.dev/item"] ?? "").localeCompare(b.metadata.labels?.["slipway.dev/item"] ?? ""),
    );
    expect(jobs.map(({ metadata }) => metadata.labels)).toMatchObject([
      { "slipway.dev/step": "each", "slipway.dev/attempt": "1", "slipway.dev/item": "0" },
      { "slipway.dev/step": "each", "slipway.dev/attempt": "1", "slipway.dev/item": "1" },
    ]);
    expect(jobs.map(environmentOf)).toMatchObject([
      { SLIPWAY_ITEM: "dns", SLIPWAY_INDEX: "0" },
      { SLIPWAY_ITEM: '{"port":53}', SLIPWAY_INDEX: "1" },
    ]);
    expect(new Set(jobs.map(({ metadata }) => metadata.name)).size).toBe(2);
  });

  test("skips the items whose condition is false, and fails where it has no answer", async () => {
    await harness.create(each({ items: [{ os: "linux" }, { os: "plan9" }], when: "item.os == 'linux' && index < 5" }));
    expect(await statesOf()).toBe("1A1K");
    expect(await harness.jobs()).toHaveLength(1);
    await harness.endItem("each", 0);
    expect((await harness.status()).phase).toBe("Succeeded");
    await harness.create(each({ items: [{}], when: "item.os == 'linux'" }), "asks");
    expect((await harness.status("asks")).statuses?.["each"]).toMatchObject({
      phase: "Failed",
      reason: "ExpressionError",
      message: expect.stringContaining("forEach.when: item 0: "),
    });
    await harness.create(each({ items: [1], when: "'yes'" }), "text");
    expect(JSON.stringify((await harness.status("text")).conditions)).toContain("expected a boolean");
  });

  test("ends when all items have, with outputs as lists in their order", async () => {
    await harness.create(each({ items: [1, 2, 3] }, { outputs: { n: {} } }));
    await harness.endItem("each", 2, { message: "n=c" });
    await harness.endItem("each", 0, { message: "n=a" });
    expect((await stepOf()).phase).toBe("Running");
    await harness.endItem("each", 1, { message: "n=b" });
    expect(await stepOf()).toMatchObject({ phase: "Succeeded", complete: true, outputs: { n: ["a", "b", "c"] } });
    expect((await harness.status()).phase).toBe("Succeeded");
  });

  test("never has more than maxParallel items active", async () => {
    await harness.create(each({ items: [1, 2, 3, 4, 5], maxParallel: 2 }));
    expect([await statesOf(), (await harness.active()).length]).toEqual(["2A3P", 2]);
    await harness.endItem("each", 0);
    expect([await statesOf(), (await harness.active()).length]).toEqual(["1S1R1A2P", 2]);
  });

  test("takes its items from what earlier steps gave", async () => {
    await harness.create({
      steps: {
        list: job({ outputs: { regions: { expression: "fromJson(result.regions)" } } }),
        each: job({ dependencies: ["list"], forEach: { from: "steps.list.outputs.regions" } }),
      },
    });
    await harness.end("list", { message: 'regions=["eu","us"]' });
    expect((await harness.jobs()).map((found) => environmentOf(found)["SLIPWAY_ITEM"])).toEqual(
      expect.arrayContaining(["eu", "us"]),
    );
  });

  test("without items there is no Job, and the step succeeds", async () => {
    await harness.create(each({ items: [] }, { outputs: { n: {} } }));
    expect(await stepOf()).toMatchObject({ phase: "Succeeded", outputs: { n: [] } });
    expect(await harness.jobs()).toEqual([]);
  });

  test("more items than the limit fail the step, and create nothing", async () => {
    await harness.create(each({ from: "[1, 2, 3]", limit: 2 }));
    expect(await stepOf()).toMatchObject({
      phase: "Failed",
      reason: "TooManyItems",
      message: "3 items, at most 2 are allowed by forEach.limit",
    });
    expect(await harness.jobs()).toEqual([]);
  });

  test("what is no list fails the step in words", async () => {
    await harness.create(each({ from: "workflow.name" }));
    expect(await stepOf()).toMatchObject({
      phase: "Failed",
      reason: "ExpressionError",
      message: 'forEach.from: expected a list, found "wf"',
    });
  });

  test("an item is tried again with a Job of its own, and its failure does not touch the others", async () => {
    await harness.create(each({ items: ["a", "b"] }, { retry: { limit: 1, initialSeconds: 10 } }));
    await harness.endItem("each", 0, { exitCode: 1 });
    await harness.endItem("each", 1);
    expect(await statesOf()).toBe("1W1S");
    await harness.pass(11_000);
    expect((await stepOf()).items).toMatchObject({ states: "1A1S", attempts: "0:2" });
    await harness.endItem("each", 0, { exitCode: 3 });
    expect(await stepOf()).toMatchObject({
      phase: "Failed",
      reason: "ItemsFailed",
      message: "1 of 2 items failed, first item 0: Error: exit code 3",
    });
    expect(harness.events.map(({ note }) => note)).toContain(
      'item 0 of step "each" failed in attempt 2: Error: exit code 3',
    );
  });

  test("a retry of the run repeats the item that failed, and nothing else", async () => {
    await harness.create(each({ items: ["a", "b", "c"] }));
    for (const item of [0, 1, 2]) await harness.endItem("each", item, { exitCode: item === 1 ? 1 : 0 });
    const before = (await harness.jobs()).length;
    await harness.act("retry");
    expect([await statesOf(), (await harness.jobs()).length - before]).toEqual(["1S1A1S", 1]);
    await harness.endItem("each", 1);
    expect((await harness.status()).phase).toBe("Succeeded");
  });

  test("a cancel deletes the Jobs of active items", async () => {
    await harness.create(each({ items: ["a", "b", "c"], maxParallel: 2 }));
    await harness.act("cancel");
    await harness.pass(1_000);
    expect([await statesOf(), await harness.jobs()]).toEqual(["3X", []]);
    expect((await harness.status()).phase).toBe("Canceled");
  });

  test("a Job of an item that was deleted by hand is a lost attempt", async () => {
    await harness.create(each({ items: ["a"] }));
    await harness.pass(600);
    expect(await statesOf()).toBe("1R");
    const [found] = await harness.jobs();
    if (found === undefined) throw new Error("there is no Job");
    await harness.store.delete({
      type: { group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true },
      name: found.metadata.name,
      namespace: "default",
    });
    await harness.settle();
    expect((await stepOf()).items?.failures).toEqual([{ index: 0, attempt: 1, reason: "ChildDeleted" }]);
  });

  test("items that came alive are not worth a write of their own", async () => {
    await harness.create(each({ items: ["a", "b", "c"] }));
    const writes = harness.statusWrites;
    await harness.pass(100);
    expect(harness.statusWrites).toBe(writes);
    await harness.pass(500);
    expect([harness.statusWrites - writes, await statesOf()]).toEqual([1, "3R"]);
  });

  test("outputs of all items together may be 256 KiB", async () => {
    const items = Array.from({ length: 66 }, (_, index) => index);
    await harness.create(each({ items }, { outputs: { n: {} } }));
    for (const item of items) await harness.endItem("each", item, { message: `n=${"x".repeat(4_000)}` });
    expect((await stepOf()).items).toMatchObject({
      states: "65S1F",
      failures: [{ index: 65, reason: "OutputTooLarge", message: expect.stringContaining("at most 262144 are kept") }],
    });
  });

  test("a change of the definition behind the back of admission stops further attempts of items", async () => {
    await harness.create(each({ items: ["a", "b"], maxParallel: 1 }, { retry: { limit: 3, initialSeconds: 0 } }));
    await harness.edit({ steps: { each: { displayName: "changed" } } });
    await harness.endItem("each", 0, { exitCode: 1 });
    expect((await stepOf()).items?.failures).toMatchObject([{ index: 0, reason: "SpecConflict" }]);
  });

  test("its logs are those of all Pods with its labels, since its status lists no children", async () => {
    const { metadata } = await harness.create(each({ items: ["a", "b"] }));
    const [step] = viewWorkflow(await harness.workflow(), []).steps;
    const labelSelector = `slipway.dev/workflow-uid=${metadata.uid},slipway.dev/step=each`;
    expect(step?.logs).toMatchObject([{ name: "each", items: { labelSelector } }]);
    expect(step?.items).toMatchObject({ total: 2, states: "2A" });
  });
});

describe("a finished item", () => {
  test("loses its Job after the template's time to live, and not before its outcome is stored", async () => {
    const container = { name: "main", image: "busybox" };
    const spec = {
      ttlSecondsAfterFinished: 5,
      template: { spec: { restartPolicy: "Never", containers: [container] } },
    };
    await harness.create({ steps: { each: { forEach: { items: ["a", "b"] }, jobTemplate: { spec } } } });
    await harness.endItem("each", 0);
    await harness.pass(4_000);
    expect(await harness.jobs()).toHaveLength(2);
    await harness.pass(2_000);
    expect((await harness.jobs()).map(({ metadata }) => metadata.labels?.["slipway.dev/item"])).toEqual(["1"]);
  });
});
