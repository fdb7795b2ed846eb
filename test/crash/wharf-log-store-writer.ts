import { writeSync } from "node:fs";
import { openLogStore } from "../../src/dialects/wharf/log-store/log-store.ts";
import { linesOf } from "../../src/dialects/wharf/log-store/testing/log-lines.ts";
import { systemClock } from "../../src/lib/base/index.ts";

// The server that is killed. Usage: DIRECTORY. Sends the lines of three steps of two builds in batches that overlap and come in any order, and says on
// stdout `kept BUILD STEP LINE` for lines up to which all are on the disk, `saw BUILD LOGID LINE STEP` for those that a follower has been given.

const [, , directory = ""] = process.argv;
const store = await openLogStore({ directory, clock: systemClock, openFiles: 3 });

/** Begins behind what is there, as an aggregator does. */
async function send(build: number, step: number): Promise<never> {
  const known = (await store.cursors(build)).find(({ stepId }) => stepId === step)?.lastWorkerLogId ?? 0;
  for (let next = known + 1; ; ) {
    const size = 1 + Math.floor(Math.random() * 400);
    const [middle, end] = [next + Math.floor(size / 2), next + size - 1];
    await store.insert(build, linesOf(step, middle, end));
    await store.insert(build, linesOf(step, Math.max(1, next - 50), middle), true);
    writeSync(1, `kept ${build} ${step} ${end}\n`);
    next = end + 1;
  }
}

async function follow(build: number): Promise<void> {
  const until = new AbortController().signal;
  for await (const { lines } of store.lines(build, { after: 0, until })) {
    const last = lines.at(-1);
    if (last !== undefined) writeSync(1, `saw ${build} ${last.logId} ${last.workerLogId} ${last.stepId}\n`);
  }
}

await Promise.all([send(1, 1), send(1, 2), send(2, 1), follow(1)]);
