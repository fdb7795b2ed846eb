import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { seededRandom } from "#kernel/kit/testing/index.ts";
import { RebarClient } from "#dialects/rebar/agent/client.ts";
import { type Job, type Machine, zeroUuid } from "#dialects/rebar/objects.ts";
import { freePort } from "#test/support/free-port.ts";
import { type RebarServer, startRebar } from "#test/support/rebar.ts";
import { rounds } from "#test/support/rounds.ts";
import { cleanEnvironment, endRunner, removeDirectory, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";
import { eventually } from "#test/support/within.ts";

// 15.34 and 15.35: the server, one of its agents or both are killed at random moments of the work of a fleet, and started
// again. Each machine comes to the end of its list, with one finished job for each task, and a script runs again only
// where its agent was killed. SLIPWAY_CRASH_SEED repeats the moments, SLIPWAY_CRASH_KILLS says how many.

const seed = Number(process.env["SLIPWAY_CRASH_SEED"] ?? randomInt(2 ** 31));
const random = seededRandom(seed);
const kills = Number(process.env["SLIPWAY_CRASH_KILLS"] ?? rounds(2, 50));
/** More kills than these strike fleets of their own. */
const killsPerFleet = rounds(2, 5);
const size = rounds(5, 10);
const taskCount = rounds(10, 20);
/** Agents wait up to 30 s for a server that is away, and the machine that runs the test may be busy. */
const patienceMs = 300_000;
const kinds = ["server", "both", "agent"] as const;

let directory = "";
let address = "";
let server: RebarServer;
let client: RebarClient;

const taskNames = Array.from({ length: taskCount }, (_, at) => `task-${at}`);

/** What scripts have done: `MACHINE TASK JOB`, a line for each time that one ran. */
const effects = (): readonly string[] => readFileSync(join(directory, "effects"), "utf8").split("\n").slice(0, -1);

/** Kills come before, between and after what a script does. */
const script = () => `#!/usr/bin/env bash
sleep 0.05
echo "$RS_UUID {{.Task.Name}} {{.Machine.CurrentJob}}" >> ${join(directory, "effects")}
sleep 0.05
`;

interface Agent {
  readonly machine: string;
  readonly process: ChildProcess;
  readonly said: () => string;
}

function startAgent(machine: string): Agent {
  const words = ["rebar", "agent", "--machine", machine, "--mark-runnable", "--state-dir", join(directory, "state")];
  const env = cleanEnvironment({ ...server.env, RS_RUNNER_DIR: join(directory, machine.slice(0, 8)) });
  const child = spawn(process.execPath, [slipwayBin, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return { machine, process: child, said: () => said };
}

async function end({ process: child }: Agent): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function list<T>(collection: "machines" | "jobs"): Promise<readonly T[]> {
  return (await client.get([collection], AbortSignal.timeout(patienceMs))) as unknown as readonly T[];
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  await writeFile(join(directory, "effects"), "");
  address = `127.0.0.1:${await freePort()}`;
  await start();
  const tasks = Object.fromEntries(taskNames.map((name) => [name, { Templates: [{ Name: "s", Contents: script() }] }]));
  const content = {
    meta: { Name: "content-fleet", Version: "v1.0.0" },
    sections: { tasks, stages: { fleet: { Tasks: taskNames } }, workflows: { fleet: { Stages: ["fleet"] } } },
  };
  await client.call("POST", ["contents"], { body: content, signal: AbortSignal.timeout(patienceMs) });
});

afterAll(async () => {
  client.close();
  await server.stop();
  await endRunner(join(directory, "data"));
  await removeDirectory(directory);
});

async function start(): Promise<void> {
  server = await startRebar(join(directory, "data"), address);
  const [user = "", password = ""] = (server.env["RS_KEY"] ?? "").split(":");
  client = new RebarClient({
    endpoint: `https://${address}`,
    credentials: { user, password },
    trust: { kind: "any" },
    clock: systemClock,
  });
}

/** Holds at every moment, also while agents work: the machines are read first. */
async function expectSound(): Promise<void> {
  const machines = await list<Machine>("machines");
  const jobs = new Map((await list<Job>("jobs")).map((job) => [job.Uuid, job]));
  const lost = machines.filter(({ CurrentJob: job }) => job !== "" && job !== zeroUuid && !jobs.has(job));
  expect(lost, `machines whose CurrentJob does not exist, seed ${seed}`).toEqual([]);
  const torn = [...jobs.values()].filter(({ Previous }) => Previous !== zeroUuid && !jobs.has(Previous));
  expect(torn, `jobs whose Previous does not exist, seed ${seed}`).toEqual([]);
  const current = [...jobs.values()].filter(({ Current }) => Current).map(({ Machine: machine }) => machine);
  expect(current.length, `two current jobs of a machine, seed ${seed}`).toBe(new Set(current).size);
}

const tally = (lines: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
};

/** The whole truth about a machine that has come to its end. */
function expectWhole(machine: Machine, all: readonly Job[], killed: number): void {
  const told = `machine ${machine.Name}, seed ${seed}`;
  const jobs = all.filter((job) => job.Machine === machine.Uuid);
  const finished = jobs.filter(({ State }) => State === "finished");
  expect(finished.map(({ Task }) => Task).toSorted(), told).toEqual(taskNames.toSorted());
  const others = jobs.filter(({ State }) => State !== "finished");
  expect(
    others.filter(({ State }) => State !== "failed"),
    told,
  ).toEqual([]);
  // A killed agent leaves one job at most; a killed server leaves none.
  expect(others.length, `failed jobs of ${told}: ${JSON.stringify(others)}`).toBeLessThanOrEqual(killed);
  expect(
    jobs.filter(({ Current }) => Current).map(({ Uuid }) => Uuid),
    told,
  ).toEqual([machine.CurrentJob]);
  const ran = tally(effects().filter((line) => line.startsWith(`${machine.Uuid} `)));
  for (const { Task, Uuid } of finished)
    expect(ran.get(`${machine.Uuid} ${Task} ${Uuid}`), `${Task} of ${told}`).toBe(1);
  const ofOthers = others.map(({ Task, Uuid }) => ran.get(`${machine.Uuid} ${Task} ${Uuid}`) ?? 0);
  expect(Math.max(0, ...ofOthers), `scripts of failed jobs of ${told}`).toBeLessThanOrEqual(1);
  const known = finished.length + ofOthers.reduce((sum, count) => sum + count, 0);
  expect(
    [...ran.values()].reduce((sum, count) => sum + count, 0),
    `scripts of ${told}`,
  ).toBe(known);
}

const told = new Map<string, number>();
const count = (what: string, more = 1): void => void told.set(what, (told.get(what) ?? 0) + more);

/** A fleet of new machines, struck by kills, to its end. */
async function live(name: string, strikes: readonly (typeof kinds)[number][]): Promise<void> {
  const before = effects().length;
  const machines: string[] = [];
  for (let at = 0; at < size; at++) {
    const body = { Name: `${name}-${at}`, Workflow: "fleet" };
    const { json } = await client.call("POST", ["machines"], { body, signal: AbortSignal.timeout(patienceMs) });
    machines.push((json as unknown as Machine).Uuid);
  }
  const agents = machines.map(startAgent);
  const killed = new Map<string, number>();
  const state = () => `seed ${seed}\n${agents.map(({ said }) => said().slice(-600)).join("\n---\n")}\n${server.log()}`;
  try {
    for (const [at, kind] of strikes.entries()) {
      // Somewhere in its part of the work: the scripts that have run tell how far it is.
      const share = ((at + 0.1 + random() * 0.8) / strikes.length) * 0.9 * size * taskCount;
      await eventually(patienceMs, "the fleet works", () => effects().length - before >= share, state);
      await sleep(systemClock, random() * 200);
      const done = tally(effects().map((line) => line.split(" ")[0] ?? ""));
      const working = agents.filter(({ machine }) => (done.get(machine) ?? 0) < taskCount);
      const agent = working[Math.floor(random() * working.length)] ?? agents[0];
      if (agent === undefined) throw new Error("a fleet without agents");
      count(kind);
      const dying = [...(kind === "agent" ? [] : [server.kill()]), ...(kind === "server" ? [] : [end(agent)])];
      await Promise.all(dying);
      if (kind !== "agent") {
        client.close();
        await start();
        await expectSound();
      }
      if (kind === "server") continue;
      killed.set(agent.machine, (killed.get(agent.machine) ?? 0) + 1);
      agents.splice(agents.indexOf(agent), 1, startAgent(agent.machine));
    }
    await untilComplete(machines, state);
    const [found, jobs] = [await list<Machine>("machines"), await list<Job>("jobs")];
    for (const machine of found.filter(({ Uuid }) => machines.includes(Uuid)))
      expectWhole(machine, jobs, killed.get(machine.Uuid) ?? 0);
    const ofFleet = jobs.filter(({ Machine: machine }) => machines.includes(machine));
    count("jobs", ofFleet.length);
    count("failed jobs", ofFleet.filter(({ State }) => State === "failed").length);
  } finally {
    await Promise.all(agents.map(end));
  }
  await expectSound();
}

async function untilComplete(machines: readonly string[], state: () => string): Promise<void> {
  const limit = systemClock.monotonic() + patienceMs;
  for (;;) {
    const open = (await list<Machine>("machines")).filter(
      ({ Uuid, WorkflowComplete }) => machines.includes(Uuid) && !WorkflowComplete,
    );
    if (open.length === 0) return;
    if (systemClock.monotonic() > limit) {
      const places = open.map((one) => `${one.Name} ${one.CurrentTask} ${one.Runnable} ${one.CurrentJob}`).join("\n");
      throw new Error(`these machines do not come to their end:\n${places}\n${state()}`);
    }
    await sleep(systemClock, 250);
  }
}

test(`15.34, 15.35 ${size} machines with ${taskCount} tasks each come to their end, though server and agents are killed ${kills} times`, async () => {
  const begun = systemClock.monotonic();
  try {
    for (let from = 0; from < kills; from += killsPerFleet) {
      const numbers = Array.from({ length: Math.min(killsPerFleet, kills - from) }, (_, at) => from + at);
      await live(
        `fleet-${from}`,
        numbers.map((at) => kinds[at % kinds.length] ?? "server"),
      );
    }
  } finally {
    const words = [...told].map(([what, times]) => `${times} ${what}`).join(", ");
    process.stderr.write(`rebar-kill: seed ${seed}, ${Math.round(systemClock.monotonic() - begun)} ms, ${words}\n`);
  }
});
