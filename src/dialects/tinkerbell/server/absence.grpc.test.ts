import { afterEach, expect, test } from "vitest";
import { defaultSettings } from "../settings.ts";
import { Place } from "./testing/place.ts";

const limit = 300_000;
const settings = { agentLostTimeout: limit };
const places: Place[] = [];
const start = async (options: Parameters<typeof Place.start>[0]) => {
  const place = await Place.start(options);
  places.push(place);
  return place;
};
afterEach(async () => {
  for (const place of places.splice(0)) await place.close();
});

/** An agent that has begun the first action of a workflow. */
async function running(place: Place) {
  const id = await place.create("w");
  const agent = place.agent();
  await expect.poll(() => agent.told).toEqual(["start w: one two"]);
  expect(await agent.tell(id, { is: "started" })).toBe("OK");
  return { id, agent };
}
const deadline = async (place: Place) => (await place.state("w")).deadlines.agent;

test("an agent whose connection ends has to be back in time, and is waited for no more when it is", async () => {
  const place = await start({ settings });
  const { id, agent } = await running(place);
  expect(await deadline(place)).toBeUndefined();
  agent.stream.cancel();
  await expect.poll(() => deadline(place)).toBe(place.clock.now() + limit);
  place.agent("agent-a", { "x-slipway-resume": `${id};action=id-one;state=running` });
  await expect.poll(() => deadline(place)).toBeUndefined();
  expect(await place.state("w")).toMatchObject({ phase: "Running", dispatch: { held: true, attempt: 1 } });
});

test("a server that begins waits for all agents of its predecessor", async () => {
  // One that is killed writes nothing, as one without a limit.
  const before = await start({});
  await running(before);
  const place = await start({ settings, store: before.store });
  await expect.poll(() => deadline(place)).toBe(place.clock.now() + limit);
});

test("a server that has the connection of an agent takes back what another one has said of it", async () => {
  const place = await start({ settings });
  await running(place);
  await place.write("w", (state) => ({ ...state, deadlines: { ...state.deadlines, agent: 1 } }));
  await expect.poll(() => deadline(place)).toBeUndefined();
});

test("without a limit nobody is waited for", async () => {
  expect(defaultSettings.agentLostTimeout).toBe(0);
  const place = await start({});
  const { agent } = await running(place);
  agent.stream.cancel();
  await expect.poll(async () => (await place.agentStatus("agent-a"))?.connected).toBe(false);
  expect(await deadline(place)).toBeUndefined();
});
