import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { followLogs } from "#dialects/wharf/results/follow-logs.ts";
import { linesOf } from "#dialects/wharf/results/log-line.ts";
import { readResults } from "#dialects/wharf/results/read-results.ts";
import { systemClock } from "#lib/base/index.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { removeDirectory, temporaryDirectory } from "../support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// A worker that is killed with SIGKILL at a random moment leaves results that can be read: of each log what followers were given and no half
// line, no half file.

const kills = rounds(2, 50);
let directory = "";
let program = "";
beforeAll(async () => {
  directory = await temporaryDirectory();
  program = await bundleProgram(join(import.meta.dirname, "wharf-results-writer.ts"));
});
afterAll(() => removeDirectory(directory));

/** What followers were given of each step when the worker was killed, after so many words of it. */
async function killAfter(words: number, store: string): Promise<ReadonlyMap<number, number>> {
  const worker = spawn(process.execPath, [program, store], { stdio: ["ignore", "pipe", "inherit"] });
  const seen = new Map<number, number>();
  let count = 0;
  const exit = once(worker, "exit");
  for await (const line of createInterface({ input: worker.stdout })) {
    const [, step, lines] = line.split(" ").map(Number);
    if (lines !== undefined && step !== undefined) seen.set(step, lines);
    if (++count === words) worker.kill("SIGKILL");
  }
  expect(await exit).toEqual([null, "SIGKILL"]);
  return seen;
}

test.each(Array.from({ length: kills }, (_, at) => at))("a worker that is killed, %s", async (round) => {
  const store = join(directory, `${round}`);
  const seen = await killAfter(1 + Math.floor(Math.random() * 200), store);
  const results = await readResults(store, systemClock);
  expect(results.build).toMatchObject({ status: "Failed", reason: "WorkerCrashed", frozen: true });
  const counts = new Map<number, number>();
  for await (const batch of followLogs(results)) {
    for (const { id, message, time } of linesOf(batch)) {
      if (message !== `line ${id}` || time === undefined)
        throw new Error(`step ${batch.stepId}: line ${id}: ${message}`);
      counts.set(batch.stepId, id);
    }
  }
  for (const [step, lines] of seen) expect(counts.get(step)).toBeGreaterThanOrEqual(lines);
  const [first, second, third] = results.steps;
  for (const step of [first, second]) {
    // One that was killed before it could say that it runs has not begun.
    const last = step?.updates.at(-1)?.status;
    expect(["Failed", ...(seen.has(step?.stepId ?? 0) ? [] : ["None"])]).toContain(last);
  }
  expect(third?.updates.map(({ status }) => status)).toEqual(["None"]);
  for (const { name, path, sha256 } of second?.artifacts ?? []) {
    const bytes = await readFile(join(second?.directory ?? "", path));
    expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
    expect(bytes.toString()).toBe(name.repeat(1000));
  }
  expect((await readdir(store)).toSorted()).toEqual(["build.json", "steps"]);
  expect((await readResults(store, systemClock)).build).toEqual(results.build);
});
