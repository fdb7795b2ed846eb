import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { LogWriter, readLogs } from "#kernel/streams/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { logPath, logRotation, logsIn } from "../logs/places.ts";
import { Place } from "../server/testing/place.ts";
import { type AgentState, idle } from "./agent-state.ts";
import { LogPusher } from "./log-pusher.ts";
import { logPathOf } from "./places.ts";
import { runAgent } from "./run-agent.ts";
import { streamClient } from "./stream-client.ts";
import { FakeMachine } from "./testing/fake-runtime.ts";
import type { Execution } from "./work.ts";

// Our agent and our server, and the lines that go from one to the other.

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const directoryFor = async (what: string): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), `slipway-${what}-`));
  closers.push(() => rm(directory, { recursive: true, force: true }));
  return directory;
};

async function serve(kept: string, store?: ApiClient): Promise<Place> {
  const place = await Place.start({ logs: { directory: logsIn(kept) }, ...(store === undefined ? {} : { store }) });
  closers.push(() => place.close());
  return place;
}

/** An agent whose actions print what a test says; the answer ends its process. */
function begin(directory: string, port: () => number, machine: FakeMachine, journal: { state: AgentState }) {
  const stop = new AbortController();
  const parts = { clock: systemClock, random: () => 0, log: silentLog };
  const ended = runAgent(
    {
      server: streamClient({
        agentId: "agent-a",
        instance: "i-1",
        token: async () => undefined,
        channel: async () => ({
          address: `127.0.0.1:${port()}`,
          keepalive: { time: 20_000, timeout: 10_000 },
          connectLimit: 5_000,
          clock: systemClock,
        }),
      }),
      runtime: machine.runtime(),
      logs: new LogPusher({ directory, ...parts }),
      journal: { read: async () => journal.state, write: async (state) => void (journal.state = state) },
      stopGrace: 1000,
      killsOnExit: false,
      ...parts,
    },
    stop.signal,
  );
  const end = async () => {
    stop.abort(new Error("the test ends the agent"));
    await ended;
  };
  closers.push(end);
  return end;
}

async function read(kept: string, workflow: string, action = "id-one"): Promise<string> {
  const pieces: Uint8Array[] = [];
  const path = logPath(logsIn(kept), workflow.split("/")[2] ?? "", action);
  for await (const piece of readLogs(path)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const oneOf = (workflow: string): Execution => ({
  workflow,
  action: { id: "id-one", name: "one", image: "i", args: [], env: {}, volumes: [] },
  attempt: 1,
});

test("lines go to the server as they come, on across restarts of server and agent, each once", async () => {
  const [directory, kept] = [await directoryFor("agent"), await directoryFor("kept")];
  let place = await serve(kept);
  const machine = new FakeMachine();
  const journal = { state: idle };
  let end = begin(directory, () => place.port, machine, journal);
  const w = await place.create("wf");
  await expect.poll(() => machine.log.at(-1)).toBe("started one");
  const log = new LogWriter(logPathOf(directory, oneOf(w)), { clock: systemClock, rotation: logRotation });
  const printed: string[] = [];
  const print = (line: string) => {
    printed.push(`${line}\n`);
    log.append("stdout", Buffer.from(`${line}\n`));
  };
  print("first");
  await expect.poll(() => read(kept, w)).toBe("first\n");
  await place.close();
  print("while the server is away");
  place = await serve(kept, place.store);
  print("after");
  await expect.poll(() => read(kept, w)).toBe(printed.join(""));
  await end();
  print("while the agent is away");
  end = begin(directory, () => place.port, machine, journal);
  await expect.poll(() => read(kept, w)).toBe(printed.join(""));
  print("last");
  await log.close();
  machine.end();
  await expect.poll(() => machine.log.at(-1)).toBe("started two");
  await expect.poll(() => read(kept, w)).toBe(printed.join(""));
});

test("actions go on and are told while logs cannot be kept", async () => {
  const [directory, kept] = [await directoryFor("agent"), await directoryFor("kept")];
  const place = await serve(join(kept, "\0"));
  const machine = new FakeMachine();
  begin(directory, () => place.port, machine, { state: idle });
  await place.create("wf");
  for (const name of ["one", "two"]) {
    await expect.poll(() => machine.log.at(-1)).toBe(`started ${name}`);
    machine.end();
  }
  await expect.poll(async () => (await place.state("wf")).phase).toBe("Succeeded");
});
