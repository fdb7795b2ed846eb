import { seededRandom } from "#kernel/kit/testing/index.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { HostedBuilds, scriptStep } from "#test/support/hosted-builds.ts";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { expectPrefix, expectWholeLog, linesOfStep, printingBuild } from "./wharf-printing-build.ts";
import { rounds } from "#test/support/rounds.ts";

// wharf-api, provisioner, aggregator and the API server are killed together at random moments of a build, again and again: its worker goes on
// meanwhile, and every line of four steps is there once, in order, at the end.

const kills = rounds(2, 50);
const builds = rounds(8, 20);
const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? 1);
const patience = { timeout: 300_000 };

let directory: string;
let hosted: HostedBuilds;
beforeEach(async () => {
  directory = await temporaryDirectory();
  hosted = await HostedBuilds.open(directory);
});
afterEach(async () => {
  await hosted.close();
  await removeDirectory(directory);
});

test.each([kills])("%i kills of everything but the worker: every line of a build once and in order", async () => {
  const random = seededRandom(seed);
  const gate = join(directory, "gate");
  await hosted.addProject(printingBuild(gate));
  const number = await hosted.build();
  for (let kill = 0; kill < kills; kill++) {
    await sleep(systemClock, random() * 1500);
    await hosted.killAndStart();
  }
  await writeFile(gate, "");
  await expect.poll(async () => (await hosted.facts(number)).status, patience).toBe("Completed");
  await expectWholeLog(hosted, number, linesOfStep);
  await expect.poll(() => hosted.workers(), patience).toEqual([]);
});

test(`${builds} builds over a restart of the whole server: all of them finish, with complete logs`, async () => {
  const gate = join(directory, "gate");
  const waits = scriptStep(
    "seq -f 'line %.0f' 1 50",
    `until [ -e ${gate} ]; do sleep 0.5; done`,
    "seq -f 'line %.0f' 51 100",
  );
  await hosted.addProject({ build: { one: waits } });
  const numbers: string[] = [];
  for (let at = 0; at < builds; at++) numbers.push(await hosted.build());
  // Some print by then, and others are not there yet.
  await expect.poll(async () => (await hosted.log("1")).length, patience).toBe(50);
  await hosted.restart();
  await writeFile(gate, "");
  const ends = () => Promise.all(numbers.map(async (number) => (await hosted.facts(number)).status));
  await expect.poll(ends, patience).toEqual(numbers.map(() => "Completed"));
  for (const number of numbers) {
    expect(await expectPrefix(hosted, number, 1)).toBe(100);
    expect(await hosted.log(number)).toHaveLength(100);
  }
});
