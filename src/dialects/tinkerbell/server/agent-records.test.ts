import { expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import type { EventNote } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Agent } from "../kinds.ts";
import { agentName } from "./agent-name.ts";
import { AgentRecords } from "./agent-records.ts";

function start() {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [Agent] });
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
    workflowOf: () => "default/wf",
  });
  const status = async (name: string) => (await client.get<Agent>({ type: Agent, name })).status;
  return { clock, client, events, records, status };
}

test("an agent is written when it comes, once a minute while it is heard of, and when it goes", async () => {
  const { clock, records, status, events } = start();
  records.came({ agentID: "a", instance: "i" }, "stream");
  await clock.advance(1000);
  const begun = await status("a");
  expect(begun).toMatchObject({ connected: true, instance: "i", server: "s", currentWorkflow: "default/wf" });
  for (let second = 0; second < 58; second += 1) {
    records.seen("a");
    await clock.advance(1000);
  }
  expect(await status("a")).toEqual(begun);
  await clock.advance(1000);
  expect((await status("a"))?.lastSeen).not.toBe(begun?.lastSeen);
  records.left("a");
  await clock.advance(0);
  expect(await status("a")).toMatchObject({ connected: false });
  expect(events.map(({ reason }) => reason)).toEqual(["AgentConnected", "AgentDisconnected"]);
  await records.close();
});

test("an agent is written within a minute of when it is heard of, also when the clock was set back", async () => {
  const { clock, records, status } = start();
  records.came({ agentID: "a" }, "stream");
  await clock.advance(1000);
  const begun = await status("a");
  clock.jump(clock.now() - 3_600_000);
  records.seen("a");
  await clock.advance(61_000);
  expect((await status("a"))?.lastSeen).not.toBe(begun?.lastSeen);
  await records.close();
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

test.each([
  ["02:00:00:00:00:0A", "02-00-00-00-00-0a"],
  ["02-00-00-00-00-0a", "02-00-00-00-00-0a"],
  [" /dev/sda ", "dev-sda"],
  ["Node__7", "node-7"],
  ["a".repeat(100), "a".repeat(63)],
])("agent %s is named %s", (agentID, name) => {
  expect(agentName(agentID)).toBe(name);
});

test("an id of which no name can be made has one all the same", () => {
  expect(agentName("::")).toMatch(/^[a-z2-7]{8}$/);
});
