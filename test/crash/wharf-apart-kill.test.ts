import { seededRandom } from "#kernel/kit/testing/index.ts";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { hostWorkersBelow, processesBelow } from "#test/support/wharf.ts";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { expectPrefix, expectWholeLog, linesOfStep, printingBuild } from "./wharf-printing-build.ts";
import { services, type ServiceName, WharfServices } from "./wharf-services.ts";
import { rounds } from "#test/support/rounds.ts";

// API server, wharf-api, provisioner and aggregator are processes of their own, and one of them at a time is killed at random moments of a build and
// started again. SLIPWAY_WHARF_KILLED=aggregator kills one service alone.

const deaths = rounds(services.length, 50);
const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? 1);
const killed = services.filter((name) => name === (process.env["SLIPWAY_WHARF_KILLED"] ?? name));
const patience = { timeout: 300_000 };

let directory: string;
let hosted: WharfServices;
let gate: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  hosted = await WharfServices.open(directory);
  gate = join(directory, "gate");
  await hosted.addProject(printingBuild(gate));
});
afterAll(async () => {
  await hosted.close();
  await removeDirectory(directory);
});

/** Every one as often as every other, in an order that chance has picked. */
function victims(random: () => number): readonly ServiceName[] {
  const all = Array.from({ length: deaths }, (_, at) => killed[at % killed.length] ?? "aggregator");
  return all
    .map((name) => ({ name, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ name }) => name);
}

test.each([deaths])("%i deaths of one service at a time: every line of a build is there once, in order", async () => {
  const random = seededRandom(seed);
  const number = await hosted.build();
  // Not before: a provisioner that has died acts again when its lease has ended, and the build would begin after all deaths.
  await expect.poll(async () => (await hosted.log(number)).length, patience).toBeGreaterThan(0);
  for (const name of victims(random)) {
    await sleep(systemClock, random() * 600);
    await hosted.kill(name);
    await sleep(systemClock, random() * 300);
    await hosted.start(name);
  }
  await writeFile(gate, "");
  await expect.poll(async () => (await hosted.facts(number)).status, patience).toBe("Completed");
  await expectWholeLog(hosted, number, linesOfStep);
  await expect.poll(() => hosted.workers(), patience).toEqual([]);
});

test("a worker that is killed leaves what it has said up to there, and its build has failed with the reason", async () => {
  const random = seededRandom(seed);
  await rm(gate, { force: true });
  const number = await hosted.build();
  await expect.poll(async () => (await hosted.log(number)).length, patience).toBeGreaterThan(0);
  await sleep(systemClock, random() * 3000);
  const workers = await hostWorkersBelow(directory);
  expect(workers).toHaveLength(1);
  expect(await processesBelow(directory)).not.toEqual([]);
  for (const { pid } of workers) process.kill(pid, "SIGKILL");
  const before = await hosted.log(number);
  await expect.poll(() => hosted.facts(number), patience).toMatchObject({ status: "Failed", reason: "WorkerCrashed" });
  const after = await hosted.log(number);
  // What was there stays as it was.
  expect(after.slice(0, before.length)).toEqual(before);
  const lines = [];
  for (const stepId of [1, 2, 3, 4]) lines.push(await expectPrefix(hosted, number, stepId));
  expect(Math.max(...lines)).toBeLessThan(linesOfStep);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBe(after.length);
  await expect.poll(() => hosted.workers(), patience).toEqual([]);
  expect(await processesBelow(directory)).toEqual([]);
});
