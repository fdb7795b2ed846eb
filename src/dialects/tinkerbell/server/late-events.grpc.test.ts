import { afterEach, expect, test } from "vitest";
import { workflowV2 } from "#kernel/rpc/index.ts";
import { isRefused } from "#kernel/rpc/testing/index.ts";
import { fail } from "../transitions.ts";
import { begin, settings } from "../testing/states.ts";
import { Place, type TestAgent } from "./testing/place.ts";

// What becomes of events that come late, twice or out of order: a row each, by the code the agent is answered, what is stored, and what people read.

const places: Place[] = [];
afterEach(async () => {
  for (const place of places.splice(0)) await place.close();
});

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });

type Step = readonly ["started" | "succeeded" | "failed" | "rejected", ("one" | "two" | "three")?];

/** A workflow that was dispatched, and these events of it told. */
async function after(...steps: readonly Step[]) {
  const place = await Place.start();
  places.push(place);
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(() => agent.told.length).toBe(1);
  const tell = async (...[is, action = "one"]: Step): Promise<string> => await agent.tell(id, { is, action });
  for (const step of steps) expect(await tell(...step)).toBe("OK");
  return { place, agent, id, tell };
}

const cancelling = (place: Place) => place.write("wf", (state) => ({ ...state, phase: "Cancelling" }));
const timedOut = (place: Place) =>
  place.write(
    "wf",
    (state) => fail(state, { reason: "WorkflowTimeout", message: "late", isFree: false }, begin, settings).state,
  );
const phasesIn = async (place: Place) => (await place.state("wf")).actions.map(({ phase }) => phase);
const stops = (agent: TestAgent) => agent.told.filter((command) => command === "stop wf").length;

test("a start that comes twice is one start", async () => {
  const { place, tell } = await after(["started"]);
  const before = await place.workflow("wf");
  expect(await tell("started")).toBe("OK");
  expect(await place.workflow("wf")).toEqual(before);
});

test("a success that comes twice is one success", async () => {
  const { place, tell } = await after(["started"], ["succeeded"]);
  const before = await place.workflow("wf");
  expect(await tell("succeeded")).toBe("OK");
  expect(await place.workflow("wf")).toEqual(before);
});

test("a failure that comes twice is one failure", async () => {
  const { place, tell } = await after(["started"], ["failed"]);
  const before = await place.workflow("wf");
  expect(await tell("failed")).toBe("OK");
  expect(await place.workflow("wf")).toEqual(before);
});

test("a success without a start is both", async () => {
  const { place, tell } = await after();
  expect(await tell("succeeded")).toBe("OK");
  const state = await place.state("wf");
  expect(state).toMatchObject({ phase: "Running", startedAt: place.clock.now() });
  expect(state.actions[0]).toMatchObject({ phase: "Succeeded", attempts: 1 });
});

test.each(["started", "succeeded", "failed"] as const)("%s of an action beyond the next is refused", async (is) => {
  const { place, tell } = await after(["started"]);
  expect(await tell(is, "two")).toBe("FAILED_PRECONDITION");
  expect(await phasesIn(place)).toEqual(["Running", "Pending"]);
  await poll(() => place.reasons()).toContain("OutOfOrderEvent");
});

test("a failure after a success is told to people, and the success stands", async () => {
  const { place, tell } = await after(["started"], ["succeeded"]);
  expect(await tell("failed")).toBe("OK");
  expect(await phasesIn(place)).toEqual(["Succeeded", "Pending"]);
  await poll(() => place.reasons()).toContain("ContradictoryEvent");
});

test("a start while it is cancelled is refused, and the agent is told to stop again", async () => {
  const { place, agent, tell } = await after(["started"], ["succeeded"]);
  await cancelling(place);
  await poll(() => stops(agent)).toBe(1);
  expect(await tell("started", "two")).toBe("FAILED_PRECONDITION");
  await poll(() => stops(agent)).toBe(2);
});

test("a start after the end is refused, and the agent is told to stop again", async () => {
  const { place, agent, tell } = await after(["started"]);
  await timedOut(place);
  await poll(() => stops(agent)).toBe(1);
  expect(await tell("started")).toBe("FAILED_PRECONDITION");
  await poll(() => stops(agent)).toBe(2);
});

test("a success while it is cancelled is recorded, and the stop is still awaited", async () => {
  const { place, tell } = await after(["started"]);
  await cancelling(place);
  expect(await tell("succeeded")).toBe("OK");
  expect((await place.state("wf")).phase).toBe("Cancelling");
  expect(await phasesIn(place)).toEqual(["Succeeded", "Pending"]);
});

test("the last success while it is cancelled ends it as canceled", async () => {
  const { place, tell } = await after(["started"], ["succeeded"], ["started", "two"]);
  await cancelling(place);
  expect(await tell("succeeded", "two")).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ phase: "Canceled", message: "all actions had already finished" });
});

test("a failure while it is cancelled ends it as canceled", async () => {
  const { place, tell } = await after(["started"]);
  await cancelling(place);
  expect(await tell("failed")).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ phase: "Canceled", dispatch: { held: false } });
  expect(await phasesIn(place)).toEqual(["Failed", "Pending"]);
});

test.each(["succeeded", "failed"] as const)("%s after the end lets the agent go and changes no action", async (is) => {
  const { place, tell } = await after(["started"]);
  await timedOut(place);
  expect((await place.state("wf")).dispatch.held).toBe(true);
  const before = await phasesIn(place);
  expect(await tell(is)).toBe("OK");
  expect((await place.state("wf")).dispatch.held).toBe(false);
  expect(await phasesIn(place)).toEqual(before);
  await poll(() => place.reasons()).toContain("LateEvent");
});

test("a rejection of what was dispatched makes it pending", async () => {
  const { place, tell } = await after();
  expect(await tell("rejected")).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ phase: "Pending", dispatch: { held: false, rejections: 1 } });
});

test("a start that overtook its rejection counts", async () => {
  const { place, tell } = await after(["rejected"]);
  expect(await tell("started")).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ phase: "Running", dispatch: { held: true, rejections: 0 } });
});

test.each(["Pending", "Running", "Cancelling", "Failed"] as const)(
  "a rejection while it is %s is only told",
  async (phase) => {
    const { place, tell } = await after(
      ...(phase === "Pending" ? ([["rejected"]] as const) : ([["started"]] as const)),
    );
    if (phase === "Cancelling") await cancelling(place);
    if (phase === "Failed") await timedOut(place);
    const before = await place.state("wf");
    expect(await tell("rejected")).toBe("OK");
    expect(await place.state("wf")).toEqual(before);
    await poll(() => place.reasons()).toContain("LateEvent");
  },
);

test("an action that the workflow does not have is not found", async () => {
  const { tell } = await after();
  expect(await tell("started", "three")).toBe("NOT_FOUND");
});

test("a workflow that was deleted, or created anew under its name, is not found", async () => {
  const { place, agent, id, tell } = await after();
  await place.remove("wf");
  expect(await tell("started")).toBe("NOT_FOUND");
  const anew = await place.create("wf");
  expect(anew).not.toBe(id);
  expect(await tell("started")).toBe("NOT_FOUND");
  await poll(() => agent.told.length).toBe(2);
  expect(await agent.tell(anew, { is: "started" })).toBe("OK");
  expect(await agent.tell("default/wf", { is: "succeeded" })).toBe("OK");
});

test.each([
  ["event", {}],
  ["event.workflow_id", { event: { event: { case: "actionStarted", value: { actionId: "id-one" } } } }],
  ["event.event", { event: { workflowId: "a/b/c" } }],
  ["event.action_started.action_id", { event: { workflowId: "a/b/c", event: { case: "actionStarted", value: {} } } }],
  ["event.action_failed.action_id", { event: { workflowId: "a/b/c", event: { case: "actionFailed", value: {} } } }],
] as const)("an event without %s is refused by that name", async (field, request) => {
  const place = await Place.start();
  places.push(place);
  const answer = await place.client().unary(workflowV2.WorkflowService.method.publishEvent, request);
  expect(isRefused(answer) ? answer : {}).toMatchObject({ code: "INVALID_ARGUMENT", message: `${field} is empty` });
});

test("an event that cannot be stored is answered UNAVAILABLE, and counts when it is told again", async () => {
  const disk = { isFull: false };
  const place = await Place.start({
    wrap: (store) =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "updateStatus") return value.bind(target);
          const full = (): Promise<never> =>
            Promise.reject(Object.assign(new Error("no space left"), { code: "ENOSPC" }));
          return (...given: readonly unknown[]): unknown =>
            disk.isFull ? full() : Reflect.apply(value, target, given);
        },
      }),
  });
  places.push(place);
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(() => agent.told.length).toBe(1);
  disk.isFull = true;
  expect(await agent.tell(id, { is: "started" })).toBe("UNAVAILABLE");
  expect((await place.state("wf")).phase).toBe("Scheduled");
  disk.isFull = false;
  expect(await agent.tell(id, { is: "started" })).toBe("OK");
  expect((await place.state("wf")).actions[0]).toMatchObject({ phase: "Running", attempts: 1 });
});
