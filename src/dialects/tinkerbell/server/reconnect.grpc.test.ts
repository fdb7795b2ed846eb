import { afterEach, expect, test } from "vitest";
import type { ApiClient } from "#kernel/kit/index.ts";
import { action } from "../testing/states.ts";
import { Place } from "./testing/place.ts";

const places: Place[] = [];
afterEach(async () => {
  for (const place of places.splice(0).toReversed()) await place.close();
});

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });

/** A server; one on the store of another is the same server after a restart. */
async function start(store?: ApiClient): Promise<Place> {
  const place = await Place.start(store === undefined ? {} : { store });
  places.push(place);
  return place;
}

/** A workflow that was sent to an agent whose stream has ended since; started if it is to be. */
async function lost(isStarted: boolean) {
  const place = await start();
  const agent = place.agent();
  const id = await place.create("wf");
  await poll(() => agent.told.length).toBe(1);
  if (isStarted) expect(await agent.tell(id, { is: "started" })).toBe("OK");
  agent.stream.cancel();
  await poll(() => place.agentStatus("agent-a")).toMatchObject({ connected: false });
  return { place, id };
}

const resuming = (id: string, state: "running" | "interrupted") => ({
  "x-slipway-instance": "i-2",
  "x-slipway-resume": `${id};action=id-one;state=${state}`,
});

test("a stream that ends changes no workflow", async () => {
  const { place } = await lost(true);
  expect(await place.state("wf")).toMatchObject({ phase: "Running", dispatch: { held: true } });
});

test("a workflow whose command was lost is sent again, as one more attempt", async () => {
  const { place } = await lost(false);
  const agent = place.agent();
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  expect(await place.state("wf")).toMatchObject({ phase: "Scheduled", dispatch: { attempt: 2, held: true } });
});

test("a workflow that was stored as dispatched before the server ended is delivered by the next one, and runs once", async () => {
  const { place, id } = await lost(false);
  const next = await start(place.store);
  const agent = next.agent();
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  expect(await agent.tell(id, { is: "started" })).toBe("OK");
  expect((await next.state("wf")).actions[0]).toMatchObject({ attempts: 1 });
});

test("an agent that goes on is left alone, and its events count", async () => {
  const { place, id } = await lost(true);
  const agent = place.agent("agent-a", resuming(id, "running"));
  expect(await agent.tell(id, { is: "succeeded" })).toBe("OK");
  expect(await agent.tell(id, { is: "started", action: "two" })).toBe("OK");
  expect(await agent.tell(id, { is: "succeeded", action: "two" })).toBe("OK");
  expect((await place.state("wf")).actions.map(({ attempts }) => attempts)).toEqual([1, 1]);
  expect(agent.told).toEqual([]);
});

test("an agent that goes on with what is cancelled is told to stop", async () => {
  const { place, id } = await lost(true);
  await place.write("wf", (state) => ({ ...state, phase: "Cancelling" }));
  const agent = place.agent("agent-a", resuming(id, "running"));
  await poll(() => agent.told).toEqual(["stop wf"]);
  expect((await place.state("wf")).phase).toBe("Cancelling");
});

test("an agent that goes on with what has gone is told to stop", async () => {
  const place = await start();
  const agent = place.agent("agent-a", resuming("default/gone/uid", "running"));
  await poll(() => agent.told).toEqual(["stop gone"]);
});

test("an agent that comes back without a cancelled workflow has stopped it", async () => {
  const { place } = await lost(true);
  await place.write("wf", (state) => ({ ...state, phase: "Cancelling" }));
  place.agent();
  await poll(async () => (await place.state("wf")).phase).toBe("Canceled");
});

test.each(["an interrupted native agent", "a foreign agent"])(
  "%s runs its action again, and no more than three times",
  async (who) => {
    const { place, id } = await lost(true);
    for (const attempt of [2, 3]) {
      const agent = place.agent("agent-a", who === "a foreign agent" ? {} : resuming(id, "interrupted"));
      await poll(() => agent.told).toEqual(["start wf: one two"]);
      expect(await agent.tell(id, { is: "started" })).toBe("OK");
      expect((await place.state("wf")).actions[0]).toMatchObject({ phase: "Running", attempts: attempt });
    }
    place.agent();
    await poll(async () => (await place.state("wf")).reason).toBe("ActionInterrupted");
  },
);

test("an agent that is replaced again and again is told of to people", async () => {
  const place = await start();
  const first = place.agent();
  await first.stream.headers.promise;
  for (let count = 0; count < 4; count += 1) await place.agent().stream.headers.promise;
  await poll(() => place.reasons()).toContain("DuplicateAgent");
});

test("a resume header that means nothing is refused by its name", async () => {
  const place = await start();
  const agent = place.agent("agent-a", { "x-slipway-resume": "default/wf" });
  const refused = await agent.stream.end.promise;
  expect(refused).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(refused?.message).toContain("x-slipway-resume");
});

test("what an agent tells of its machine is shown", async () => {
  const place = await start();
  const attributes = { cpu: { total_cores: 4 } };
  place.agent("agent-a", { "x-slipway-attributes-bin": Buffer.from(JSON.stringify(attributes)) });
  await poll(() => place.agentStatus("agent-a").catch(() => undefined)).toMatchObject({ attributes });
});

test("the second part of a workflow goes to the agent it is for, when the first has ended", async () => {
  const place = await start();
  const [a, b] = [place.agent("agent-a"), place.agent("agent-b")];
  const id = await place.create("wf", { actions: [action("one"), action("two", {}, "agent-b")] });
  await poll(() => a.told).toEqual(["start wf: one"]);
  await a.tell(id, { is: "started" });
  expect(b.told).toEqual([]);
  await a.tell(id, { is: "succeeded" });
  await poll(() => b.told).toEqual(["start wf: two"]);
  expect(await place.state("wf")).toMatchObject({
    phase: "Running",
    agentID: "agent-b",
    dispatch: { agentID: "agent-b" },
  });
  await b.tell(id, { is: "succeeded", action: "two" });
  expect((await place.state("wf")).phase).toBe("Succeeded");
});
