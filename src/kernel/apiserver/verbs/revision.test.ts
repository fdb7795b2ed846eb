import { beforeEach, describe, expect, test } from "vitest";
import { type TestContext, testContext } from "../testing/index.ts";
import { listObjects } from "./list.ts";
import { waitForRevision } from "./get.ts";

let context: TestContext;
beforeEach(() => void (context = testContext()));

const put = (name: string, labels: Record<string, string> = {}) =>
  context.put("configmaps", { kind: "ConfigMap", metadata: { name, labels } });

describe("a revision that has not come yet", () => {
  test("is waited for, and read as soon as it comes", async () => {
    await put("a");
    const served = context.served("configmaps");
    const listing = listObjects(context, served, { resourceVersion: String(context.store.revision + 1) });
    await put("b");
    expect((await listing).entries.map(({ key }) => key.name)).toEqual(["a", "b"]);
  });

  test("is given up after three seconds, in the words by which client-go knows it", async () => {
    let thrown: unknown;
    const waiting = waitForRevision(context, 7).catch((error: unknown) => void (thrown = error));
    await context.clock.advance(2999);
    expect(thrown).toBeUndefined();
    await context.clock.advance(1);
    await waiting;
    expect(thrown).toMatchObject({
      reason: "Timeout",
      details: { causes: [{ reason: "ResourceVersionTooLarge" }], retryAfterSeconds: 1 },
    });
  });

  test("ends with the signal of who waits", async () => {
    const gone = new AbortController();
    const waiting = waitForRevision(context, 7, gone.signal);
    gone.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
  });
});

test("a list by labels lets others have their turn, whatever it finds", async () => {
  await Promise.all(Array.from({ length: 3000 }, (_, at) => put(`m${at}`)));
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const { entries } = await listObjects(context, context.served("configmaps"), { labelSelector: "none" });
  isDone = true;
  expect(entries).toEqual([]);
  expect(turns).toBeGreaterThanOrEqual(2);
});

test("a state of long ago has a turn of its own, and not everybody may wait for one", async () => {
  const first = await put("first");
  await Promise.all(Array.from({ length: 1000 }, (_, at) => put(`m${at}`)));
  const request = { resourceVersion: String(first.revision), resourceVersionMatch: "Exact", limit: 1 };
  const maps = context.served("configmaps");
  const asked = await Promise.allSettled(Array.from({ length: 100 }, () => listObjects(context, maps, request)));
  const refused = asked.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(100 - 64);
  expect(refused[0]).toMatchObject({ reason: { code: 429 } });
  expect(asked[0]).toMatchObject({ value: { entries: [{ key: { name: "first" } }] } });
  // What is of now needs none.
  expect((await listObjects(context, maps, { limit: 1 })).entries).toHaveLength(1);
});
