import { afterEach, expect, test } from "vitest";
import { fail } from "../transitions.ts";
import { action, begin, settings } from "../testing/states.ts";
import { Place } from "./testing/place.ts";

const places: Place[] = [];
afterEach(async () => {
  for (const place of places.splice(0)) await place.close();
});

async function start(options: Parameters<typeof Place.start>[0] = {}): Promise<Place> {
  const place = await Place.start(options);
  places.push(place);
  return place;
}

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });

test("a workflow runs from its creation to its end over one stream", async () => {
  const place = await start();
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  expect(await place.state("wf")).toMatchObject({ phase: "Scheduled", dispatch: { held: true, protocol: "stream" } });
  for (const name of ["one", "two"]) {
    expect(await agent.tell(id, { is: "started", action: name })).toBe("OK");
    expect(await agent.tell(id, { is: "succeeded", action: name })).toBe("OK");
  }
  expect(await place.state("wf")).toMatchObject({ phase: "Succeeded", dispatch: { held: false } });
  await poll(() => place.reasons()).toEqual(
    expect.arrayContaining(["AgentConnected", "Scheduled", "Started", "ActionStarted", "ActionSucceeded", "Succeeded"]),
  );
});

test("what the agent is sent is what was rendered", async () => {
  const place = await start();
  const agent = place.agent();
  const actions = [
    action("one", { args: ["-c", "true"], env: { A: "1" }, volumes: ["/dev:/dev"], pid: "host" }),
    action("two"),
  ];
  const workflowId = await place.create("wf", { actions });
  await poll(() => agent.told.length).toBe(1);
  const { cmd } = agent.stream.messages[0] ?? {};
  expect(cmd).toMatchObject({ case: "startWorkflow", value: { workflow: { workflowId } } });
  const sent = cmd?.case === "startWorkflow" ? cmd.value.workflow?.actions : undefined;
  expect(sent?.[0]).toMatchObject({
    id: "id-one",
    name: "one",
    args: ["-c", "true"],
    env: { A: "1" },
    volumes: ["/dev:/dev"],
    ns: { pid: "host" },
  });
  expect(sent?.[1]?.ns).toBeUndefined();
});

test("nothing is sent before it is durable", async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const place = await start({
    wrap: (store) =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "updateStatus") return value.bind(target);
          return async (...given: readonly unknown[]) => {
            const stored: unknown = await Reflect.apply(value, target, given);
            await held;
            return stored;
          };
        },
      }),
  });
  const agent = place.agent();
  await place.create("wf");
  await poll(async () => (await place.state("wf")).phase).toBe("Scheduled");
  expect(agent.told).toEqual([]);
  release();
  await poll(() => agent.told).toEqual(["start wf: one two"]);
});

test("a dispatch that is durable though its write was answered with an error is sent all the same", async () => {
  const answer = { isLost: true };
  const place = await start({
    wrap: (store) =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "updateStatus") return value.bind(target);
          return async (...given: readonly unknown[]) => {
            const stored: unknown = await Reflect.apply(value, target, given);
            if (answer.isLost) throw Object.assign(new Error("the connection broke"), { code: "ECONNRESET" });
            return stored;
          };
        },
      }),
  });
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(async () => (await place.state("wf")).phase).toBe("Scheduled");
  answer.isLost = false;
  await place.clock.advance(1500);
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  expect(await agent.tell(id, { is: "started" })).toBe("OK");
  await place.clock.advance(1500);
  expect(agent.told).toEqual(["start wf: one two"]);
  expect(await place.state("wf")).toMatchObject({ phase: "Running", dispatch: { attempt: 1 } });
});

test("workflows of one agent come one by one in the order of their creation; other agents do not wait", async () => {
  const place = await start();
  const ids = [];
  for (const name of ["c", "a", "b"]) {
    ids.push(await place.create(name));
    await place.clock.advance(1000);
  }
  await place.create("other", { agentID: "agent-b", actions: [action("one", {}, "agent-b")] });
  const agent = place.agent();
  const other = place.agent("agent-b");
  await poll(() => other.told).toEqual(["start other: one"]);
  for (const [at, id] of ids.entries()) {
    await poll(() => agent.told.length).toBe(at + 1);
    for (const name of ["one", "two"]) await agent.tell(id, { is: "succeeded", action: name });
  }
  expect(agent.told).toEqual(["start c: one two", "start a: one two", "start b: one two"]);
});

test("a rejected workflow comes again when its time has come, and nobody overtakes it", async () => {
  const place = await start();
  const agent = place.agent();
  const id = await place.create("wf");
  await place.create("younger");
  await poll(() => agent.told.length).toBe(1);
  expect(await agent.tell(id, { is: "rejected" })).toBe("OK");
  const { phase, dispatch } = await place.state("wf");
  expect([phase, dispatch.held, dispatch.rejections, dispatch.lastRejection?.message]).toEqual([
    "Pending",
    false,
    1,
    "busy",
  ]);
  await place.clock.advance(3900);
  expect(agent.told.length).toBe(1);
  await place.clock.advance(2200);
  await poll(() => agent.told).toEqual(["start wf: one two", "start wf: one two"]);
});

test("a cancelled workflow is stopped, and its agent takes the next one when it has confirmed that", async () => {
  const place = await start();
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(() => agent.told.length).toBe(1);
  await agent.tell(id, { is: "started" });
  await place.create("next");
  await place.write("wf", (state) => ({ ...state, phase: "Cancelling" }));
  await poll(() => agent.told).toEqual(["start wf: one two", "stop wf"]);
  expect(await agent.tell(id, { is: "failed" })).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ phase: "Canceled", dispatch: { held: false } });
  await poll(() => agent.told.at(-1)).toBe("start next: one two");
});

test("a workflow that a timeout has ended is stopped, and holds its agent until that tells its end", async () => {
  const place = await start();
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(() => agent.told.length).toBe(1);
  await agent.tell(id, { is: "started" });
  await place.create("next");
  const reason = { reason: "WorkflowTimeout", message: "late", isFree: false };
  await place.write("wf", (state) => fail(state, reason, begin, settings).state);
  await poll(() => agent.told).toEqual(["start wf: one two", "stop wf"]);
  expect(await agent.tell(id, { is: "succeeded" })).toBe("OK");
  await poll(() => agent.told.at(-1)).toBe("start next: one two");
  expect((await place.state("wf")).phase).toBe("Failed");
});

test("a second stream of an agent ends the first, and gets what comes", async () => {
  const place = await start();
  const first = place.agent("02:00:00:00:00:0A");
  await poll(() => place.agentStatus("02-00-00-00-00-0a").catch(() => undefined)).toMatchObject({ connected: true });
  const second = place.agent("02-00-00-00-00-0a");
  expect(await first.stream.end.promise).toMatchObject({
    code: "ABORTED",
    message: "superseded by a newer connection",
  });
  await place.create("wf", { agentID: "02:00:00:00:00:0a" });
  await poll(() => second.told.length).toBe(1);
  expect(first.told).toEqual([]);
});

test("an agent that comes and goes is shown, with events", async () => {
  const place = await start();
  const agent = place.agent("agent-a", { "x-slipway-instance": "i-1" });
  await poll(() => place.agentStatus("agent-a").catch(() => undefined)).toMatchObject({
    connected: true,
    protocol: "stream",
    instance: "i-1",
    server: "slipway",
  });
  agent.stream.cancel();
  await poll(() => place.agentStatus("agent-a")).toMatchObject({ connected: false });
  await poll(() => place.reasons()).toEqual(["AgentConnected", "AgentDisconnected"]);
});

test.each([
  ["no id", ""],
  ["an id that is too long", "a".repeat(257)],
  ["an id of two lines", "a\nb"],
  ["an id with a NUL", "a\u0000b"],
])("an agent with %s is refused", async (_what, id) => {
  const place = await start();
  expect(await place.agent(id).stream.end.promise).toMatchObject({ code: "INVALID_ARGUMENT" });
});
