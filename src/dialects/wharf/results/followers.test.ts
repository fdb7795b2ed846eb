import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { followLogs } from "./follow-logs.ts";
import type { Results } from "./results.ts";
import { createResults, type ResultsStore } from "./results-store.ts";
import { newBuild } from "./testing/new-build.ts";

const steps = 8;
const lines = 10_000;

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-followers-"));
});
afterEach(() => rm(directory, { recursive: true }));

/** Prints to a step as a program does that is faster than the disk. */
async function print(store: ResultsStore, stepId: number, onTurn: () => void): Promise<void> {
  let drained = (): void => undefined;
  const writer = await store.openLog(stepId, { onDrain: () => drained() });
  for (let from = 1; from <= lines; from += 100) {
    const drain = new Promise<void>((resolve) => (drained = resolve));
    const text = Array.from({ length: 100 }, (_, at) => `line ${from + at} ${"x".repeat(80)}\n`).join("");
    if (!writer.append("stdout", Buffer.from(text))) await drain;
    onTurn();
    await new Promise(setImmediate);
  }
  await store.setStatus(stepId, "Success", 0);
}

/** Follows to the end; where a line is missing, comes again or is out of order, it says which. How many there were of each step. */
async function follow(results: Results, after: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, number>> {
  const last = new Map(after);
  for await (const { stepId, firstId, lines: count, bytes } of followLogs(results, { after })) {
    const expected = (last.get(stepId) ?? 0) + 1;
    if (firstId !== expected) throw new Error(`step ${stepId}: line ${firstId} came where ${expected} was due`);
    const text = bytes.toString("latin1", 25, 40);
    if (!text.startsWith(`line ${firstId} `)) throw new Error(`step ${stepId}: ${text} is not line ${firstId}`);
    last.set(stepId, firstId + count - 1);
  }
  return last;
}

test("a hundred followers that come at any time get every line once, and one that never reads holds up nobody", async () => {
  const store = await createResults(join(directory, "7"), newBuild(steps), { clock: systemClock });
  const idle = followLogs(store);
  const first = idle.next();
  const following: Promise<ReadonlyMap<number, number>>[] = [];
  const join100 = (): void => {
    if (following.length >= 100 || Math.random() > 0.3) return;
    // Some have been here before.
    const known = store.logs.map(({ stepId, lines: count }) => [stepId, Math.floor(Math.random() * count)] as const);
    following.push(follow(store, following.length % 2 === 0 ? new Map() : new Map(known)));
  };
  await Promise.all(store.steps.map(({ stepId }) => print(store, stepId, join100)));
  while (following.length < 100) join100();
  expect(await first).toMatchObject({ value: { firstId: 1 } });
  await store.finish({ status: "Success" });
  await store.freeze();
  const all = store.steps.map(({ stepId }) => [stepId, lines]);
  for (const counts of await Promise.all(following)) expect([...counts].toSorted(([a], [b]) => a - b)).toEqual(all);
  await idle.return();
  expect(store.changes.waiting).toBe(0);
});
