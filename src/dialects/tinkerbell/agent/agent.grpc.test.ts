import { afterEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { Place } from "../server/testing/place.ts";
import { action, settings } from "../testing/states.ts";
import { beginCancel } from "../transitions.ts";
import { type AgentState, idle } from "./agent-state.ts";
import { runAgent } from "./run-agent.ts";
import { streamClient } from "./stream-client.ts";
import { FakeMachine } from "./testing/fake-runtime.ts";

// Our agent and our server, with everything between them real: what each believes of the other is believed by itself elsewhere.

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });

/** A server; one on the store of another is the same server after a restart. */
async function serve(store?: ApiClient): Promise<Place> {
  const place = await Place.start(store === undefined ? {} : { store });
  closers.push(() => place.close());
  return place;
}

/** A machine with its agent's journal; agents begin on it, one after the other. */
function machineAt(first: Place) {
  const machine = new FakeMachine();
  let saved: AgentState = idle;
  let server = first;
  return {
    machine,
    moveTo: (place: Place) => void (server = place),
    /** A process of the agent; the answer ends it, and leaves what runs. */
    begin: () => {
      const stop = new AbortController();
      const ended = runAgent(
        {
          server: streamClient({
            agentId: "agent-a",
            instance: "i-1",
            token: async () => undefined,
            channel: async () => ({
              address: `127.0.0.1:${server.port}`,
              keepalive: { time: 20_000, timeout: 10_000 },
              connectLimit: 5_000,
              clock: systemClock,
            }),
          }),
          runtime: machine.runtime(),
          journal: { read: async () => saved, write: async (state) => void (saved = state) },
          stopGrace: 1000,
          killsOnExit: false,
          clock: systemClock,
          random: () => 0,
          log: silentLog,
        },
        stop.signal,
      );
      const end = async () => {
        stop.abort(new Error("the test ends the agent"));
        await ended;
      };
      closers.push(end);
      return end;
    },
  };
}

const phase = async (place: Place, name = "wf") => (await place.state(name)).phase;
const attempts = async (place: Place) => (await place.state("wf")).actions.map((one) => one.attempts);

test("workflows are carried out one after the other, each action announced, run once and told", async () => {
  const place = await serve();
  const { machine, begin } = machineAt(place);
  begin();
  await place.create("wf");
  // Which of two is older has to be seen by the second.
  await place.clock.advance(1000);
  await place.create("next", { actions: [action("three")] });
  for (const name of ["one", "two", "three"]) {
    await poll(() => machine.log.at(-1)).toBe(`started ${name}`);
    machine.end();
  }
  await poll(() => phase(place, "next")).toBe("Succeeded");
  expect(await place.state("wf")).toMatchObject({ phase: "Succeeded", dispatch: { held: false, protocol: "stream" } });
  expect(await attempts(place)).toEqual([1, 1]);
});

test("a failure has the agent's words", async () => {
  const place = await serve();
  const { machine, begin } = machineAt(place);
  begin();
  await place.create("wf");
  await poll(() => machine.log.at(-1)).toBe("started one");
  machine.end({ is: "failed", reason: "DiskMissing", message: "no /dev/sda" });
  await poll(() => phase(place)).toBe("Failed");
  expect((await place.state("wf")).actions[0]).toMatchObject({ reason: "DiskMissing", message: "no /dev/sda" });
});

test("a cancelled workflow is stopped, and its end confirmed", async () => {
  const place = await serve();
  const { machine, begin } = machineAt(place);
  begin();
  await place.create("wf");
  await poll(() => machine.log.at(-1)).toBe("started one");
  await place.write("wf", (state) => beginCancel(state, "User", place.clock.now(), settings).state);
  await poll(() => phase(place)).toBe("Canceled");
  expect(machine.log.at(-1)).toBe("stopped one");
  expect(await place.state("wf")).toMatchObject({ reason: "Canceled", dispatch: { held: false } });
});

test("an action goes on while its server is away, and its result is recorded once by the next one", async () => {
  const place = await serve();
  const { machine, begin, moveTo } = machineAt(place);
  begin();
  await place.create("wf");
  await poll(() => machine.log.at(-1)).toBe("started one");
  await place.close();
  machine.end();
  const next = await serve(place.store);
  moveTo(next);
  await poll(() => machine.log.at(-1)).toBe("started two");
  machine.end();
  await poll(() => phase(next)).toBe("Succeeded");
  expect(await attempts(next)).toEqual([1, 1]);
});

test("an action goes on while its agent is away, and is watched by the next one", async () => {
  const place = await serve();
  const { machine, begin } = machineAt(place);
  const end = begin();
  await place.create("wf");
  await poll(() => machine.log.at(-1)).toBe("started one");
  await end();
  begin();
  machine.end();
  await poll(() => machine.log.at(-1)).toBe("started two");
  expect(await attempts(place)).toEqual([1, 1]);
  expect(machine.log.filter((line) => line.startsWith("started"))).toEqual(["started one", "started two"]);
});

test("an action of which a restart of the machine has left nothing runs again, three times at most", async () => {
  const place = await serve();
  const { machine, begin } = machineAt(place);
  let end = begin();
  await place.create("wf");
  for (const line of ["started one", "started one (2)", "started one (3)"]) {
    await poll(() => machine.log.at(-1)).toBe(line);
    await end();
    machine.forget();
    end = begin();
  }
  await poll(() => phase(place)).toBe("Failed");
  expect(await place.state("wf")).toMatchObject({ reason: "ActionInterrupted", dispatch: { held: false } });
  // And it is free for the next one.
  await place.create("next", { actions: [action("three")] });
  await poll(() => machine.log.at(-1)).toBe("started three");
});
