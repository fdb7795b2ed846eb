import { expect, test } from "vitest";
import { FakeClock, formatInstant, type JsonObject, silentLog } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Agent } from "../kinds.ts";
import { AgentUpkeep } from "./agent-upkeep.ts";

const day = 86_400_000;

/** Agents with these statuses, and their upkeep by the server `here`. */
async function start(statuses: Readonly<Record<string, JsonObject>>) {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [Agent] });
  for (const [name, status] of Object.entries(statuses)) {
    const agent: Agent = {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Agent",
      metadata: { name },
      spec: { agentID: name },
    };
    await client.create<Agent>(Agent, agent);
    await client.patch({ type: Agent, name }, { type: "merge", body: { status } }, { subresource: "status" });
  }
  const isPresent = (agentID: string): boolean => agentID === "present";
  const upkeep = new AgentUpkeep({ client, clock, log: silentLog, server: "here", isPresent });
  const connected = async () =>
    Object.fromEntries(
      (await client.list<Agent>(Agent)).items.map(({ metadata, status }) => [metadata.name, status?.connected]),
    );
  return { clock, upkeep, connected };
}

test("agents that seem to be connected to a server that has begun anew are not", async () => {
  const lastSeen = formatInstant(new FakeClock().now());
  const { upkeep, connected, clock } = await start({
    present: { connected: true, server: "here", lastSeen },
    lost: { connected: true, server: "here", lastSeen },
    elsewhere: { connected: true, server: "there", lastSeen },
  });
  upkeep.start();
  // They have time to come back, which costs no write then.
  await clock.advance(18_000);
  expect(await connected()).toEqual({ present: true, lost: true, elsewhere: true });
  await clock.advance(2_000);
  expect(await connected()).toEqual({ present: true, lost: false, elsewhere: true });
  upkeep.close();
});

test("nobody is marked as gone while agents still come back, for two minutes at most", async () => {
  const lastSeen = formatInstant(new FakeClock().now());
  const { upkeep, connected, clock } = await start({ lost: { connected: true, server: "here", lastSeen } });
  upkeep.start();
  await clock.advance(16_000);
  upkeep.came();
  await clock.advance(4_999);
  upkeep.came();
  await clock.advance(4_999);
  expect(await connected()).toEqual({ lost: true });
  await clock.advance(1);
  expect(await connected()).toEqual({ lost: false });
  upkeep.close();

  const endless = await start({ lost: { connected: true, server: "here", lastSeen } });
  endless.upkeep.start();
  for (let second = 1; second < 120; second++) {
    endless.upkeep.came();
    await endless.clock.advance(1000);
  }
  expect(await endless.connected()).toEqual({ lost: true });
  endless.upkeep.came();
  await endless.clock.advance(1000);
  expect(await endless.connected()).toEqual({ lost: false });
  endless.upkeep.close();
});

test("agents that were not heard of for a week are forgotten, present ones are not", async () => {
  const clock = new FakeClock();
  const {
    upkeep,
    connected,
    clock: time,
  } = await start({
    present: { lastSeen: formatInstant(clock.now() - 30 * day) },
    old: { lastSeen: formatInstant(clock.now() - 6.9 * day) },
    older: { lastSeen: formatInstant(clock.now() - 7.1 * day) },
  });
  upkeep.start();
  await time.advance(20_000);
  expect(Object.keys(await connected())).toEqual(["old", "present"]);
  await time.advance(3 * 3_600_000);
  expect(Object.keys(await connected())).toEqual(["present"]);
  upkeep.close();
});
