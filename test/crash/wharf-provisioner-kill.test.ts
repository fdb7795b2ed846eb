import { seededRandom } from "#kernel/kit/testing/index.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { signalGroup } from "#lib/base/index.node.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { freePort } from "../support/free-port.ts";
import { bareRepository } from "../support/git-servers.ts";
import { hostWorkersBelow } from "../support/wharf.ts";
import { within } from "../support/within.ts";
import { rounds } from "#test/support/rounds.ts";

// A provisioner is killed at random moments while clients ask for workers, and started again on what it has left. Clients
// try again until they get an answer, as wharf-api does.

const kills = rounds(3, 60);
const workersInAll = 10;
let root: string;
let programs: readonly [provisioner: string, worker: string];
let address: string;
let provisioner: ChildProcess | undefined;
const said: string[] = [];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "slipway-provisioner-")));
  programs = [
    await bundleProgram(join(import.meta.dirname, "wharf-provisioner-program.ts")),
    await bundleProgram(join(import.meta.dirname, "wharf-worker-program.ts")),
  ];
  address = `127.0.0.1:${await freePort()}`;
  bareRepository(root, "wait.git", { behaviour: "wait" });
});
afterAll(async () => {
  await kill();
  for (const { pid } of await hostWorkersBelow(root)) signalGroup(pid, "SIGKILL");
  await rm(root, { recursive: true, force: true, maxRetries: 5 });
});

async function start(): Promise<void> {
  const [program, worker] = programs;
  const child = spawn(process.execPath, [program, root, address, worker], { stdio: ["ignore", "pipe", "pipe"] });
  child.stderr.on("data", (chunk: Buffer) => said.push(chunk.toString()));
  provisioner = child;
  await within(60_000, "the provisioner answers", once(child.stdout, "data"), () => said.join(""));
}

async function kill(): Promise<void> {
  if (provisioner === undefined) return;
  const ended = once(provisioner, "exit");
  provisioner.kill("SIGKILL");
  await ended;
  provisioner = undefined;
}

/** Asks until there is an answer. */
async function ask(method: string, path: string): Promise<{ status: number; body: unknown }> {
  for (;;) {
    try {
      const response = await fetch(`http://${address}${path}`, { method, signal: AbortSignal.timeout(20_000) });
      const text = await response.text();
      return { status: response.status, body: text === "" ? null : JSON.parse(text) };
    } catch {
      await sleep(systemClock, 20); // It is dead, or beginning: asked again.
    }
  }
}

const post = (build: number) =>
  ask(
    "POST",
    `/api/worker?GIT_FULLURL=${encodeURIComponent(`file://${root}/wait.git`)}&BUILD_REF=${build}&VARS=a%3A%201&GIT_TOKEN=t0ken`,
  );

test("whatever moment it is killed at, each build has one worker in the end, and none is lost", async () => {
  const random = seededRandom(Number(process.env["SLIPWAY_SEED"] ?? 31));
  await start();
  let isOver = false;
  const answered: number[] = [];
  const asking = (async () => {
    // Every build by three at once.
    for (let build = 1; build <= workersInAll; build++) {
      const answers = await Promise.all([post(build), post(build), post(build)]);
      for (const { status, body } of answers) {
        expect([200, 201]).toContain(status);
        expect(body).toMatchObject({ workerId: `wharf-cmd-worker-local-${build}` });
      }
      answered.push(build);
    }
  })().finally(() => (isOver = true));
  for (let at = 0; at < kills; at++) {
    await sleep(systemClock, Math.floor(random() * 400));
    await kill();
    await start();
  }
  await asking;
  expect(isOver).toBe(true);
  expect(answered).toHaveLength(workersInAll);
  const builds = async () =>
    ((await ask("GET", "/api/worker")).body as { buildId: number; status: string; message: string }[]).map(
      ({ buildId, status, message }) => `${buildId} ${status} ${message}`,
    );
  const expected = Array.from({ length: workersInAll }, (_, at) => `${at + 1} Running `);
  await expect
    .poll(async () => (await builds()).toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b)))
    .toEqual(expected);
  // Late ones that have lost end by themselves.
  await expect.poll(async () => (await hostWorkersBelow(root)).length).toBe(workersInAll);
  const directories = (await hostWorkersBelow(root)).map(({ directory }) => directory);
  expect(new Set(directories).size).toBe(workersInAll);
  // Each has begun exactly one build, and nothing of a request is left.
  for (const directory of directories) {
    const output = (await readFile(`${directory}/output.log`, "utf8")).split("\n");
    expect(output.filter((line) => line.startsWith("{"))).toHaveLength(1);
    await expect.poll(async () => (await readdir(directory)).filter((name) => name.startsWith("request-"))).toEqual([]);
  }
  // They are what the provisioner thinks they are: one after the other ends when it is told to.
  for (let build = 1; build <= workersInAll; build++)
    await ask("DELETE", `/api/worker/wharf-cmd-worker-local-${build}?force=1`);
  await expect.poll(builds).toEqual([]);
  expect(await hostWorkersBelow(root)).toEqual([]);
  expect(await readdir(`${root}/workers`)).toEqual([]);
});
