import { expect, test } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { ConfigMap, isConflict, isGone, isNotFound, isTransient, type ResourceType } from "#kernel/model/index.ts";
import { memoryClient } from "./index.ts";
import { chaosClient, type ChaosFaults } from "./chaos-client.ts";
import { describeApiClient } from "../client/client.contract.ts";
import { seededRandom } from "./seeded-random.ts";

const widgets: ResourceType = {
  group: "demo.slipway.dev",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};

describeApiClient("chaos without faults, in memory", async () => {
  const inner = memoryClient({ types: [widgets], namespaces: ["work"] });
  return {
    client: chaosClient(inner, { clock: systemClock, random: () => 0, faults: {} }),
    widgets,
    namespace: "work",
    compact: async () => inner.compact(),
    close: () => inner.close(),
  };
});

const ref = { type: ConfigMap, namespace: "default", name: "a" };
const configMap = (data: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "default" },
  data,
});
const make = (faults: Partial<ChaosFaults>, random: () => number = () => 0) => {
  const clock = new FakeClock();
  const inner = memoryClient({ clock });
  return { clock, inner, chaos: chaosClient(inner, { clock, random, faults, maxLatency: 1000 }) };
};

test("a conflict is told to writers of what exists, and nothing was written", async () => {
  const { inner, chaos } = make({ conflict: 1 });
  const created = await chaos.create(ConfigMap, configMap());
  for (const write of [
    chaos.update(ConfigMap, configMap({ v: "1" })),
    chaos.patch(ref, { type: "merge", body: { data: { v: "1" } } }),
    chaos.updateStatus(ConfigMap, configMap()),
  ])
    await expect(write).rejects.toSatisfy(isConflict);
  expect(await inner.get(ref)).toEqual(created);
  expect(chaos.happened.get("conflict")).toBe(3);
});

test("a lost answer is a failure of the connection after the write was done", async () => {
  const { inner, chaos } = make({ lostAnswer: 1 });
  await expect(chaos.create(ConfigMap, configMap())).rejects.toMatchObject({ code: "connection-failed" });
  expect((await inner.get(ref)).metadata.name).toBe("a");
  await expect(chaos.delete(ref)).rejects.toMatchObject({ code: "connection-failed" });
  await expect(inner.get(ref)).rejects.toSatisfy(isNotFound);
});

test.each(["tooMany", "internal"] as const)("%s is transient and happens to reads and writes alike", async (fault) => {
  const { chaos } = make({ [fault]: 1 });
  for (const request of [chaos.get(ref), chaos.list(ConfigMap), chaos.delete(ref), chaos.deleteCollection(ConfigMap)])
    await expect(request).rejects.toSatisfy(isTransient);
  chaos.setFaults();
  expect((await chaos.list(ConfigMap)).items).toEqual([]);
});

test("latency is the clock's time, and a signal ends it", async () => {
  const { chaos, clock } = make({ latency: 1 }, () => 0.9);
  chaos.setFaults({ latency: 1 });
  const abort = new AbortController();
  const [first, second] = [chaos.list(ConfigMap), chaos.list(ConfigMap, { signal: abort.signal })];
  second.catch(() => undefined);
  abort.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  let isDone = false;
  void first.then(() => (isDone = true));
  await clock.advance(899);
  expect(isDone).toBe(false);
  await clock.advance(1);
  expect(isDone).toBe(true);
});

test("watches expire, end, break and repeat themselves", async () => {
  const { inner, chaos } = make({});
  await inner.create(ConfigMap, configMap());
  await inner.update(ConfigMap, configMap({ v: "1" }));
  const watch = async (faults: Partial<ChaosFaults>): Promise<string[]> => {
    chaos.setFaults(faults);
    const seen: string[] = [];
    const abort = new AbortController();
    for await (const event of chaos.watch(ConfigMap, { resourceVersion: "3", signal: abort.signal })) {
      seen.push(event.type);
      if (seen.length === 4) abort.abort();
    }
    return seen;
  };
  await expect(watch({ expired: 1 })).rejects.toSatisfy(isGone);
  await expect(watch({ brokenWatch: 1 })).rejects.toMatchObject({ code: "connection-failed" });
  expect(await watch({ endedWatch: 1 })).toEqual(["ADDED"]);
  expect(await watch({ duplicateEvent: 1 })).toEqual(["ADDED", "ADDED", "MODIFIED", "ADDED"]);
});

test("the same seed makes the same chaos", async () => {
  const play = async (seed: number): Promise<string[]> => {
    const { chaos } = make({ tooMany: 0.3, internal: 0.3, lostAnswer: 0.3 }, seededRandom(seed));
    const results: string[] = [];
    for (let index = 0; index < 30; index++)
      results.push(
        await chaos.delete(ref).then(String, (thrown: unknown) => (thrown instanceof Error ? thrown.message : "")),
      );
    return results;
  };
  expect(await play(1)).toEqual(await play(1));
  expect(await play(1)).not.toEqual(await play(2));
});
