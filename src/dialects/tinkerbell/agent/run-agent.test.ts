import { expect, test } from "vitest";
import { deferred, FakeClock, silentLog } from "#lib/base/index.ts";
import { type AgentState, idle } from "./agent-state.ts";
import type { Journal } from "./journal.ts";
import { type AgentOptions, runAgent } from "./run-agent.ts";
import { agentWorkflow } from "./testing/executions.ts";
import { FakeMachine } from "./testing/fake-runtime.ts";
import { FakeServer } from "./testing/fake-server.ts";

const w = agentWorkflow("w", "one", "two");
const x = agentWorkflow("x", "other");

/** An agent's surroundings, which stay when it is killed. */
function place() {
  const clock = new FakeClock();
  const machine = new FakeMachine();
  const server = new FakeServer();
  let saved = JSON.stringify(idle);
  let isDiskFull = false;
  const journal: Journal = {
    read: async () => JSON.parse(saved) as AgentState,
    write: async (state) => {
      if (isDiskFull) throw new Error("no space left on device");
      saved = JSON.stringify(state);
    },
  };
  return {
    clock,
    machine,
    server,
    fillDisk: (isFull: boolean) => void (isDiskFull = isFull),
    /** Begins a process of the agent; `kill` stops it at once, as far as its surroundings can tell. */
    begin: async (more: Partial<AgentOptions> = {}) => {
      let isKilled = false;
      const dead = new Promise<never>(() => undefined);
      const guarded = <T extends object>(whole: T): T =>
        new Proxy(whole, {
          get: (target, name) => {
            const method: unknown = Reflect.get(target, name);
            return typeof method === "function"
              ? (...args: unknown[]) => (isKilled ? dead : method.apply(target, args))
              : method;
          },
        });
      const stop = new AbortController();
      const ended = runAgent(
        {
          server: guarded(server),
          runtime: guarded(machine.runtime()),
          journal: guarded(journal),
          stopGrace: 10_000,
          clock,
          random: () => 0.5,
          log: silentLog,
          killsOnExit: false,
          ...more,
        },
        stop.signal,
      );
      await clock.advance(0);
      return {
        ended,
        stop: () => stop.abort(),
        kill: () => {
          isKilled = true;
          server.drop();
        },
      };
    },
  };
}

/** A place with an agent that runs the first action of `w`. */
async function running(more: Partial<AgentOptions> = {}) {
  const here = place();
  const agent = await here.begin(more);
  here.server.send({ is: "start", workflow: w });
  await here.clock.advance(0);
  expect(here.machine.log).toEqual(["prepared one", "started one"]);
  return { ...here, agent };
}

test("actions run one after the other, each announced before and told after", async () => {
  const { machine, server, clock } = await running();
  machine.end();
  await clock.advance(0);
  expect(server.told).toEqual(["started id-one", "succeeded id-one", "started id-two"]);
  expect(machine.log.slice(2)).toEqual(["ended one", "prepared two", "started two"]);
  machine.end({ is: "failed", reason: "NonZeroExit", message: "exit code 3" });
  await clock.advance(0);
  expect(server.told.at(-1)).toBe("failed id-two NonZeroExit");
});

test("nothing is prepared while the answer to its start is awaited, nor after a refusal", async () => {
  const { machine, server, clock, begin } = place();
  const answer = deferred<"refused">();
  server.answer = () => answer.promise;
  await begin();
  server.send({ is: "start", workflow: w });
  await clock.advance(60_000);
  expect(machine.log).toEqual([]);
  answer.resolve("refused");
  await clock.advance(60_000);
  expect(machine.log).toEqual([]);
  expect(server.told).toEqual(["started id-one", "failed id-one Canceled"]);
});

test("an action goes on while the server is away; its result waits, and the next one with it", async () => {
  const { machine, server, clock } = await running();
  server.isUp = false;
  server.drop();
  machine.end();
  await clock.advance(600_000);
  expect(server.told).toEqual(["started id-one"]);
  expect(machine.log.at(-1)).toBe("ended one");
  server.isUp = true;
  await clock.advance(15_000);
  expect(server.connections.at(-1)).toEqual([{ workflow: w.id, action: "id-one", state: "running" }]);
  expect(server.told).toEqual(["started id-one", "succeeded id-one", "started id-two"]);
});

test("an answer that is lost is asked for again", async () => {
  const { machine, server, clock } = await running();
  let losses = 2;
  server.answer = async () => (losses-- > 0 ? Promise.reject(new Error("unavailable")) : "ok");
  machine.end();
  await clock.advance(500 + 1000);
  expect(server.told).toEqual(["started id-one", "succeeded id-one", "started id-two"]);
});

test("a server that is away is asked again after 0.5, 1, 2, 4, 8 and then every 15 seconds", async () => {
  const { server, clock, begin } = place();
  server.isUp = false;
  let tries = 0;
  const connect = server.connect.bind(server);
  server.connect = (resumed) => {
    tries += 1;
    return connect(resumed);
  };
  await begin();
  const after: number[] = [];
  for (const wait of [500, 1000, 2000, 4000, 8000, 15_000, 15_000]) {
    await clock.advance(wait - 1);
    after.push(tries);
    await clock.advance(1);
  }
  expect(after).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("a second workflow is rejected, a stop ends the first one, and then the agent is free", async () => {
  const { machine, server, clock } = await running();
  server.send({ is: "start", workflow: x });
  await clock.advance(0);
  expect(server.told.at(-1)).toBe("rejected WorkflowInProgress");
  server.send({ is: "stop", workflow: w.id });
  await clock.advance(0);
  expect(server.told.at(-1)).toBe("failed id-one Canceled");
  server.send({ is: "start", workflow: x });
  await clock.advance(0);
  expect(machine.log.slice(2)).toEqual(["stopped one", "prepared other", "started other"]);
});

test("an agent that was killed takes up the action that runs, and tells its result", async () => {
  const { machine, server, clock, agent, begin } = await running();
  agent.kill();
  await clock.advance(1000);
  const again = await begin();
  expect(server.connections.at(-1)).toEqual([{ workflow: w.id, action: "id-one", state: "running" }]);
  machine.end();
  await clock.advance(0);
  expect(machine.log.slice(2)).toEqual(["ended one", "prepared two", "started two"]);
  expect(server.told).toEqual(["started id-one", "succeeded id-one", "started id-two"]);
  again.stop();
});

test("an action that ended while no agent was there is told by the next one", async () => {
  const { machine, server, clock, agent, begin } = await running();
  agent.kill();
  machine.end({ is: "failed", reason: "DiskMissing", message: "no /dev/sda" });
  await clock.advance(0);
  await begin();
  expect(server.told).toEqual(["started id-one", "failed id-one DiskMissing"]);
});

test("an action of which nothing is left is interrupted, and runs again when the server says so", async () => {
  const { machine, server, clock, agent, begin } = await running();
  agent.kill();
  machine.forget();
  await begin();
  expect(server.connections.at(-1)).toEqual([{ workflow: w.id, action: "id-one", state: "interrupted" }]);
  server.send({ is: "start", workflow: w });
  await clock.advance(0);
  expect(machine.log.slice(2)).toEqual(["prepared one (2)", "started one (2)"]);
});

test("an agent that ends leaves the action running", async () => {
  const { machine, server, clock, agent, begin } = await running();
  agent.stop();
  await clock.advance(0);
  await agent.ended;
  await begin();
  expect(machine.log).toEqual(["prepared one", "started one"]);
  expect(server.told).toEqual(["started id-one"]);
});

test.each([
  ["has been removed", true],
  ["cannot be removed soon", false],
])("an agent ends when what an action has left %s", async (_what, isRemoved) => {
  const { machine, clock, agent } = await running();
  const removed = deferred<void>();
  machine.removal = () => removed.promise;
  machine.end({ is: "failed", reason: "NonZeroExit", message: "exit code 3" });
  await clock.advance(0);
  agent.stop();
  let isOver = false;
  void agent.ended.then(() => (isOver = true));
  await clock.advance(1_000);
  expect(isOver).toBe(false);
  if (isRemoved) removed.resolve();
  else await clock.advance(4_000);
  await agent.ended;
});

test("an agent that kills on exit ends the action and tells it", async () => {
  const { machine, server, clock, agent } = await running({ killsOnExit: true });
  agent.stop();
  await clock.advance(0);
  await agent.ended;
  expect(machine.log.at(-1)).toBe("stopped one");
  expect(server.told.at(-1)).toBe("failed id-one Canceled");
});

test("an agent that kills on exit does not wait for a server that is away for ever", async () => {
  const { server, clock, agent } = await running({ killsOnExit: true });
  server.isUp = false;
  server.drop();
  agent.stop();
  await clock.advance(10_000);
  await agent.ended;
  expect(server.told).toEqual(["started id-one"]);
});

test("nothing is told and nothing runs that the journal does not have", async () => {
  const { machine, server, clock, fillDisk, begin } = place();
  await begin();
  fillDisk(true);
  server.send({ is: "start", workflow: w });
  await clock.advance(60_000);
  expect([...machine.log, ...server.told]).toEqual([]);
  fillDisk(false);
  await clock.advance(15_000);
  expect(machine.log).toEqual(["prepared one", "started one"]);
});

test("an agent ends although its disk is full, and what it could not note comes again", async () => {
  const { machine, server, clock, fillDisk, begin } = place();
  const agent = await begin({ killsOnExit: true });
  fillDisk(true);
  server.send({ is: "start", workflow: w });
  await clock.advance(1000);
  agent.stop();
  await clock.advance(60_000);
  await agent.ended;
  expect([...machine.log, ...server.told]).toEqual([]);
});

test("an agent ends while it waits to learn what became of its action", async () => {
  const { machine, clock, agent, begin } = await running();
  agent.kill();
  machine.isAway = true;
  const next = await begin({ killsOnExit: true });
  await clock.advance(60_000);
  next.stop();
  await clock.advance(0);
  await next.ended;
  expect(machine.log).toEqual(["prepared one", "started one"]);
});

test("trouble with the machine is no failure of the action", async () => {
  const { machine, server, clock, begin } = place();
  let isAway = true;
  const { prepare } = machine;
  machine.prepare = async (execution) => (isAway ? Promise.reject(new Error("no engine answers")) : prepare(execution));
  await begin();
  server.send({ is: "start", workflow: w });
  await clock.advance(60_000);
  expect(server.told).toEqual(["started id-one"]);
  isAway = false;
  await clock.advance(15_000);
  expect(machine.log.at(-1)).toBe("started one");
});

test("what cannot be prepared fails the action; what is prepared when it is stopped is not started", async () => {
  const { machine, server, clock, begin } = place();
  machine.prepare = async () => ({ is: "failed", reason: "ImagePullFailed", message: "no such image" });
  await begin();
  server.send({ is: "start", workflow: w });
  await clock.advance(0);
  expect(server.told).toEqual(["started id-one", "failed id-one ImagePullFailed"]);
  const pulled = deferred<void>();
  machine.prepare = async ({ action }) => {
    await pulled.promise;
    return { is: "prepared", handle: action.id };
  };
  server.send({ is: "start", workflow: x });
  await clock.advance(0);
  server.send({ is: "stop", workflow: x.id });
  await clock.advance(0);
  pulled.resolve();
  await clock.advance(0);
  expect(machine.log).toEqual(["prepared one", "prepared other"]);
  expect(server.told.at(-1)).toBe("failed id-other Canceled");
});
