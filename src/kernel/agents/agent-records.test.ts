import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { EventNote } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Agent } from "./agent-kind.ts";
import { AgentRecords, type AgentRecordsOptions } from "./agent-records.ts";

interface Place {
  readonly clock: FakeClock;
  readonly client: MemoryClient;
}

function start({ clock, client, ...limits }: Place & Pick<AgentRecordsOptions, "newcomers"> = newPlace()) {
  const at = { workflow: "default/wf" };
  const events: EventNote[] = [];
  const recorder = {
    dropped: 0,
    record: (note: EventNote) => void events.push(note),
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const records = new AgentRecords({
    client,
    clock,
    log: silentLog,
    recorder,
    server: "s",
    keyOf: (agentID) => agentID,
    workflowOf: () => at.workflow,
    isNamed: (agentID) => !agentID.startsWith("invented"),
    ...limits,
  });
  const status = async (name: string) => (await client.get<Agent>({ type: Agent, name })).status;
  return { clock, client, events, records, status, at };
}

function newPlace() {
  const clock = new FakeClock();
  return { clock, client: memoryClient({ clock, types: [Agent] }) };
}

test("of ids that nothing names and no credential is for a hundred are stored", async () => {
  const { clock, client, records } = start();
  for (let at = 0; at < 2000; at += 1) records.came({ agentID: `invented-${at}` }, "poll");
  for (let at = 0; at < 150; at += 1) records.came({ agentID: `invented-own-${at}`, isIndividual: true }, "poll");
  for (let at = 0; at < 150; at += 1) records.came({ agentID: `named-${at}` }, "poll");
  await clock.advance(1000);
  await records.close();
  const names = (await client.list(Agent)).items.map(({ metadata }) => metadata.name.replace(/-?\d+$/, ""));
  expect(names.filter((name) => name === "invented")).toHaveLength(100);
  expect(names).toHaveLength(400);
});

test("an agent is written when it comes, when it goes, and once a minute when something has changed", async () => {
  const { clock, records, status, events, at } = start();
  records.came({ agentID: "a", instance: "i" }, "stream");
  await clock.advance(1000);
  const begun = await status("a");
  expect(begun).toMatchObject({ connected: true, instance: "i", server: "s", currentWorkflow: "default/wf" });
  at.workflow = "default/next";
  for (let second = 0; second < 58; second += 1) {
    records.seen("a");
    await clock.advance(1000);
  }
  expect(await status("a")).toEqual(begun);
  await clock.advance(1000);
  expect(await status("a")).toMatchObject({ currentWorkflow: "default/next" });
  expect((await status("a"))?.lastSeen).not.toBe(begun?.lastSeen);
  records.left("a");
  await clock.advance(0);
  expect(await status("a")).toMatchObject({ connected: false });
  expect(events.map(({ reason }) => reason)).toEqual(["AgentConnected", "AgentDisconnected"]);
  await records.close();
});

test("made-up ids do not fill the store: agents beyond the limit are not shown, known ones always", async () => {
  const { clock, client, records, status } = start({ ...newPlace(), newcomers: { perSecond: 1 / 3600, burst: 3 } });
  const come = async (agentID: string) => {
    records.came({ agentID }, "stream");
    await clock.advance(0);
    records.left(agentID);
    await clock.advance(0);
  };
  for (const id of [1, 2, 3, 4, 5]) await come(`made-up-${id}`);
  expect((await client.list<Agent>(Agent)).items.map(({ spec }) => spec?.agentID)).toEqual([
    "made-up-1",
    "made-up-2",
    "made-up-3",
  ]);
  records.came({ agentID: "made-up-1" }, "stream");
  await clock.advance(0);
  expect(await status("made-up-1")).toMatchObject({ connected: true });
  await clock.advance(7_200_000);
  await come("new");
  expect(await status("new")).toMatchObject({ connected: false });
  await records.close();
});

test("what an agent says of itself is shown, and what the one after it does not say is taken away", async () => {
  const { clock, records, status } = start();
  const attributes = { product: { name: "R1" } };
  records.came({ agentID: "a", instance: "i", version: "1.2.3", runtime: "docker", attributes }, "stream");
  await clock.advance(0);
  expect(await status("a")).toMatchObject({ version: "1.2.3", runtime: "docker", attributes });
  records.came({ agentID: "a" }, "poll");
  await clock.advance(0);
  const after = await status("a");
  expect([after?.instance, after?.version, after?.runtime]).toEqual([undefined, undefined, undefined]);
  expect(after?.attributes).toEqual(attributes);
  await records.close();
});

test("news of an agent are written within a minute, also when the clock was set back", async () => {
  const { clock, records, status, at } = start();
  records.came({ agentID: "a" }, "stream");
  await clock.advance(1000);
  const begun = await status("a");
  clock.jump(clock.now() - 3_600_000);
  at.workflow = "default/next";
  records.seen("a");
  await clock.advance(61_000);
  expect((await status("a"))?.lastSeen).not.toBe(begun?.lastSeen);
  await records.close();
});

test("that an agent was heard of, and nothing else, is written every ten minutes", async () => {
  const { clock, records, status } = start();
  records.came({ agentID: "a" }, "poll");
  await clock.advance(1000);
  const begun = await status("a");
  for (let minute = 0; minute < 9; minute += 1) {
    records.seen("a");
    await clock.advance(60_000);
  }
  expect(await status("a")).toEqual(begun);
  await clock.advance(60_000);
  expect((await status("a"))?.lastSeen).not.toBe(begun?.lastSeen);
  await records.close();
});

test("an agent that comes back as it was to a server that was killed is no news; one that differs, or had left, is", async () => {
  const { clock, client, records, status } = start();
  for (const agentID of ["same", "other", "left"]) records.came({ agentID, instance: "i" }, "stream");
  records.left("left");
  await clock.advance(1000);
  const begun = await status("same");
  await clock.advance(1000);
  const next = start({ clock, client });
  next.records.came({ agentID: "same", instance: "i" }, "stream");
  next.records.came({ agentID: "other", instance: "j" }, "stream");
  next.records.came({ agentID: "left", instance: "i" }, "stream");
  await clock.advance(1000);
  expect(await status("same")).toEqual(begun);
  expect(await status("other")).toMatchObject({ instance: "j" });
  expect(await status("left")).toMatchObject({ connected: true });
  expect(new Set(next.events.map(({ regarding: { name } }) => name))).toEqual(new Set(["left", "other"]));
  expect(next.events).toHaveLength(2);
  // What is heard of it from then on is written as ever.
  next.at.workflow = "default/next";
  next.records.seen("same");
  await clock.advance(60_000);
  expect(await status("same")).toMatchObject({ currentWorkflow: "default/next" });
  await records.close();
  await next.records.close();
});

test("agents whose ids come to one name have an object each", async () => {
  const { clock, client, records } = start();
  records.came({ agentID: "rack/7" }, "poll");
  await clock.advance(0);
  records.came({ agentID: "rack.7" }, "poll");
  await clock.advance(0);
  const found = (await client.list<Agent>(Agent)).items.map(({ metadata, spec }) => [metadata.name, spec?.agentID]);
  expect(found).toEqual([
    ["rack-7", "rack/7"],
    [expect.stringMatching(/^rack-7-[a-z2-7]{8}$/), "rack.7"],
  ]);
  await records.close();
});

test("an agent that is back is written all the same when its object is said to be wrong", async () => {
  const place = newPlace();
  const before = start(place);
  before.records.came({ agentID: "a", instance: "i" }, "stream");
  await place.clock.advance(0);
  const { clock, client, records, status } = start(place);
  records.came({ agentID: "a", instance: "i" }, "stream");
  await clock.advance(0);
  await client.patch(
    { type: Agent, name: "a" },
    { type: "merge", body: { status: { connected: false } } },
    { subresource: "status" },
  );
  expect(await status("a")).toMatchObject({ connected: false });
  records.show("a");
  await clock.advance(0);
  expect(await status("a")).toMatchObject({ connected: true, instance: "i" });
  records.show("nobody");
  await Promise.all([before.records.close(), records.close()]);
});
