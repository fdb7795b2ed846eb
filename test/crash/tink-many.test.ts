import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, silentLog, sleep, systemClock } from "#lib/base/index.ts";
import type { ActionRuntime } from "#dialects/tinkerbell/agent/action-runtime.ts";
import { idle } from "#dialects/tinkerbell/agent/agent-state.ts";
import { runAgent } from "#dialects/tinkerbell/agent/run-agent.ts";
import { streamClient } from "#dialects/tinkerbell/agent/stream-client.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { freePort } from "#test/support/free-port.ts";
import { cleanEnvironment, removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";
import { plainTypes, type Status } from "./tink/cell.ts";
import { ServerProcess } from "./tink/server-process.ts";
import { rounds } from "#test/support/rounds.ts";

// Many agents work off long queues while their server is killed at random. The agents are the parts of the real one, but that their actions do
// nothing, their journals are in memory, and they wait a tenth of the time.

const workflows = rounds(50, 1_000);
const kills = rounds(2, 10);
const ids = Array.from({ length: workflows / 10 }, (_, at) => `agent-${at}`);
const perAgent = 10;
const patienceMs = 500_000;
const namespace = "default";

let directory: string;
let server: ServerProcess;
const stop = new AbortController();
setMaxListeners(0, stop.signal);
let agents: Promise<unknown> = Promise.resolve();
/** Names of workflows whose action was run by an agent, each time it was. */
const ran = new Map<string, string[]>(ids.map((id) => [id, []]));
const count = () => [...ran.values()].reduce((sum, { length }) => sum + length, 0);

beforeEach(async () => {
  directory = await temporaryDirectory();
  const local = (program: string, args: readonly string[], options: object) =>
    spawn(program, args, { env: cleanEnvironment(), ...options });
  server = new ServerProcess(directory, { listen: `127.0.0.1:${await freePort()}` }, local);
  await server.start();
});
afterEach(async () => {
  stop.abort(new Error("the test is over"));
  await agents;
  await server.kill();
  await removeDirectory(directory);
});

/** Ten times faster, so that agents are back soon after each of many kills. */
const hasty: Clock = { ...systemClock, after: (delay, run) => systemClock.after(delay / 10, run) };

function beAgent(id: string, address: string): Promise<void> {
  const runtime: ActionRuntime = {
    prepare: async ({ action }) => ({ is: "prepared", handle: action.id }),
    async run({ workflow }) {
      ran.get(id)?.push(workflow.split("/")[1] ?? "");
      return { is: "succeeded" };
    },
    isGone: async () => false,
    stop: async () => undefined,
    discard: async () => undefined,
    sweep: async () => undefined,
  };
  const client = streamClient({
    agentId: id,
    instance: `instance of ${id}`,
    channel: async () => ({
      address,
      keepalive: { time: 20_000, timeout: 10_000 },
      connectLimit: 10_000,
      clock: systemClock,
    }),
    token: async () => undefined,
  });
  const journal = { read: async () => idle, write: async () => undefined };
  const parts = { random: Math.random, log: silentLog, clock: hasty, stopGrace: 0, killsOnExit: false };
  return runAgent({ server: client, runtime, journal, ...parts }, stop.signal);
}

const nameOf = (id: string, round: number) => `${id}-${round}`;

async function create(kind: "Template" | "Workflow", name: string, spec: object): Promise<void> {
  const object = { apiVersion: "tinkerbell.org/v1alpha1", kind, metadata: { name, namespace }, spec };
  await server.api.create(plainTypes[kind], object);
}

async function statuses(): Promise<ReadonlyMap<string, Status>> {
  const { items } = await server.api.list<KubeObject & { readonly status?: Status }>(plainTypes.Workflow, {
    namespace,
  });
  return new Map(items.map(({ metadata: { name }, status = {} }) => [name, status]));
}

test(`${workflows} workflows of ${ids.length} agents while the server is killed ${kills} times: each succeeds, runs once, and in its order`, async () => {
  for (const id of ids) {
    const data = JSON.stringify({
      name: id,
      tasks: [{ name: "t", worker: id, actions: [{ name: "a", image: "none" }] }],
    });
    await create("Template", id, { data });
  }
  for (let round = 0; round < perAgent; round++)
    for (const id of ids) await create("Workflow", nameOf(id, round), { templateRef: id });
  // What is not prepared yet is no part of the order.
  const prepared = async () => {
    while ([...(await statuses()).values()].some(({ state }) => state !== "PENDING")) await sleep(systemClock, 100);
  };
  await within(patienceMs, "all workflows wait for their agents", prepared(), () => server.said.join(""));
  const moments = Array.from({ length: kills }, () => Math.floor(Math.random() * (workflows - 1))).sort(
    (a, b) => a - b,
  );
  agents = Promise.all(ids.map((id) => beAgent(id, server.address)));
  for (const moment of moments) {
    const reached = async () => {
      while (count() < moment) await sleep(systemClock, 5);
    };
    await within(patienceMs, `${moment} actions have run`, reached(), () => server.said.join(""));
    await server.kill();
    await server.start();
  }
  const over = async () => {
    while ([...(await statuses()).values()].some(({ state }) => state !== "SUCCESS")) await sleep(systemClock, 200);
  };
  await within(patienceMs, "all workflows succeed", over(), () => server.said.join(""));
  for (const id of ids) expect(ran.get(id)).toEqual(Array.from({ length: perAgent }, (_, round) => nameOf(id, round)));
  for (const [name, { dispatch, tasks = [] }] of await statuses()) {
    const attempts = tasks.flatMap(({ actions }) => actions.map((action) => action.attempts));
    expect({ name, attempts, held: dispatch?.held }).toEqual({ name, attempts: [1], held: false });
  }
});
