import { beforeEach, describe, expect, test } from "vitest";
import { deferred } from "#lib/base/index.ts";
import { type TestContext, testContext, waitUntil } from "../testing/index.ts";
import { Turns } from "../verbs/turns.ts";
import type { WatchChange } from "./transitions.ts";
import { startWatch, type WatchSink } from "./watch.ts";

/** A reader that takes what it is told only when the test says so. */
class Reader implements WatchSink {
  readonly told: { readonly changes: readonly WatchChange[]; readonly isLive: boolean }[] = [];
  isEnded = false;
  #taken = deferred<void>();

  changes(changes: readonly WatchChange[], source: unknown): void {
    this.told.push({ changes, isLive: source !== undefined });
  }
  bookmark(): void {
    // None is asked for.
  }
  end(): void {
    this.isEnded = true;
  }
  drained(): Promise<void> {
    return this.#taken.promise;
  }
  take(): void {
    this.#taken.resolve();
  }
  bytes = () => this.told.map(({ changes }) => changes.reduce((sum, { entry }) => sum + entry.bytes.length, 0));
  revisions = () => this.told.flatMap(({ changes }) => changes.map(({ entry }) => entry.revision));
}

describe("a watch that begins long ago", () => {
  let context: TestContext;
  let from: number;
  beforeEach(async () => {
    context = testContext();
    from = (await put("first")).revision;
  });
  const put = (name: string, text = "") =>
    context.put("configmaps", { kind: "ConfigMap", metadata: { name }, data: { text } });
  const watchFrom = async (revision: number, signal = new AbortController().signal) => {
    const reader = new Reader();
    const request = { resourceVersion: String(revision) };
    await startWatch(context, context.served("configmaps"), request, () => reader, signal);
    return reader;
  };
  const later = (first: number, count: number) => Array.from({ length: count }, (_, n) => first + n);

  test("is told of little at once", async () => {
    for (let n = 0; n < 100; n++) await put(`m${n}`);
    const reader = await watchFrom(from);
    expect(reader.revisions()).toEqual(later(from + 1, 100));
  });

  test("is told of much in parts of 64 KiB, each when the one before has been taken", async () => {
    for (let n = 0; n < 60; n++) await put(`m${n}`, "x".repeat(4000));
    const reader = await watchFrom(from);
    await new Promise((resolve) => setImmediate(resolve));
    expect(reader.told).toEqual([]);
    reader.take();
    await waitUntil(() => reader.revisions().length === 60);
    expect(reader.revisions()).toEqual(later(from + 1, 60));
    expect(Math.max(...reader.bytes())).toBeLessThan(64 * 1024 + 5000);
  });

  test("misses nothing of what is written while it is told, and then follows", async () => {
    for (let n = 0; n < 250; n++) await put(`m${n}`);
    const reader = await watchFrom(from);
    for (let n = 0; n < 250; n++) await put(`m${n}`, "changed");
    reader.take();
    await waitUntil(() => reader.revisions().length === 500);
    await put("last");
    expect(reader.revisions()).toEqual(later(from + 1, 501));
    expect(reader.told.at(-1)?.isLive).toBe(true);
    expect(reader.told.at(0)?.isLive).toBe(false);
  });

  test("is told of nothing more when it has ended", async () => {
    for (let n = 0; n < 250; n++) await put(`m${n}`);
    const stop = new AbortController();
    const reader = await watchFrom(from, stop.signal);
    stop.abort();
    reader.take();
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(reader).toMatchObject({ told: [], isEnded: true });
  });
});

describe("a watch that begins with the present objects", () => {
  test("gives others their turn when its selector looks at much", async () => {
    const context = testContext();
    const labels = Object.fromEntries(Array.from({ length: 1100 }, (_, n) => [`k${n}`, "v"]));
    for (let n = 0; n < 20; n++) {
      await context.put("configmaps", { kind: "ConfigMap", metadata: { name: `m${n}`, labels } });
    }
    let pieces = 0;
    class CountedTurns extends Turns {
      override piece(): Promise<void> {
        pieces += 1;
        return super.piece();
      }
    }
    const reader = new Reader();
    const request = { labelSelector: "a!=b,k1=w" };
    const watched = { ...context, turns: new CountedTurns(context.clock) };
    await startWatch(watched, context.served("configmaps"), request, () => reader, new AbortController().signal);
    await waitUntil(() => pieces > 0);
    await context.put("configmaps", { kind: "ConfigMap", metadata: { name: "last", labels: { k1: "w" } } });
    await waitUntil(() => reader.revisions().length === 1);
    expect(pieces).toBe(4);
  });
});
