import { afterEach, expect, test } from "vitest";
import { FramedChannel, frameOf, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import type { ResultsStore } from "../results/results-store.ts";
import { tcpConnect } from "./tcp-connect.ts";
import { type ServedBuild, serveBuild } from "./testing/served-build.ts";
import { countedLines, readLines } from "./line-frames.ts";

const steps = 8;
const lines = 1000;

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function print(store: ResultsStore, stepId: number, onTurn: () => void): Promise<void> {
  const writer = await store.openLog(stepId);
  for (let from = 1; from <= lines; from += 50) {
    writer.append("stdout", Buffer.from(Array.from({ length: 50 }, (_, at) => `line ${from + at}\n`).join("")));
    onTurn();
    await new Promise(setImmediate);
  }
  await store.setStatus(stepId, "Success", 0);
}

/** A stream of its own connection, from where somebody was. */
function open({ door }: ServedBuild, after: ReadonlyMap<number, number>) {
  const channel = new FramedChannel({ connect: tcpConnect(door.address) });
  closers.push(() => channel.close());
  const cursors = [...after].map(([stepId, id]) => ({ stepId: BigInt(stepId), lastLogId: BigInt(id) }));
  const request = frameOf(wharfWorkerV1.StreamLogsRequestSchema, { after: cursors });
  return channel.frames("/wharf.worker.v1.Worker/StreamLogs", request, new AbortController().signal);
}

/** Follows to an end that is OK; where a line is missing, comes again or is out of order, it says which. The last of each step. */
async function follow(build: ServedBuild, after: ReadonlyMap<number, number>): Promise<ReadonlyMap<number, number>> {
  const last = new Map(after);
  for await (const frames of open(build, after)) {
    for (const { stepId, logId, message } of readLines(countedLines(frames))) {
      const expected = (last.get(stepId) ?? 0) + 1;
      if (logId !== expected) throw new Error(`step ${stepId}: line ${logId} came where ${expected} was due`);
      if (message !== `line ${logId}`) throw new Error(`step ${stepId}: ${message} is not line ${logId}`);
      last.set(stepId, logId);
    }
  }
  return last;
}

test("a hundred who come at any time get every line once, and one that never reads holds up nobody", async () => {
  const build = await serveBuild(steps);
  closers.push(() => build.close());
  const stopped = open(build, new Map());
  const first = stopped.next();
  const following: Promise<ReadonlyMap<number, number>>[] = [];
  const join = (): void => {
    if (following.length >= 100 || Math.random() > 0.7) return;
    // Some have been here before.
    const known = build.results.logs.map((log) => [log.stepId, Math.floor(Math.random() * log.lines)] as const);
    following.push(follow(build, following.length % 2 === 0 ? new Map() : new Map(known)));
  };
  await Promise.all(build.results.steps.map(({ stepId }) => print(build.results, stepId, join)));
  while (following.length < 100) join();
  expect((await first).done).toBe(false);
  await build.end();
  const all = build.results.steps.map(({ stepId }) => [stepId, lines]);
  for (const counts of await Promise.all(following)) expect([...counts].toSorted(([a], [b]) => a - b)).toEqual(all);
});
