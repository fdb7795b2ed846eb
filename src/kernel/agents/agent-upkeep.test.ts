import { expect, test } from "vitest";
import { FakeClock, formatInstant, type JsonObject, silentLog } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Agent } from "./agent-kind.ts";
import { AgentUpkeep } from "./agent-upkeep.ts";

const day = 86_400_000;

/** Agents with these statuses, and their upkeep by the server `here`; `meanwhile` happens before each of its writes. */
async function start(
  statuses: Readonly<Record<string, JsonObject>>,
  meanwhile: (client: ApiClient) => Promise<void> = async () => undefined,
) {
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
  const present = new Set(["present"]);
  const shown: string[] = [];
  const slow: ApiClient = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "patch") return value.bind(target) as unknown;
      return async (...given: readonly unknown[]) => {
        await meanwhile(client);
        return (await Reflect.apply(value, target, given)) as unknown;
      };
    },
  });
  const upkeep = new AgentUpkeep({
    client: slow,
    clock,
    log: silentLog,
    server: "here",
    isPresent: (agentID) => present.has(agentID),
    show: (agentID) => void shown.push(agentID),
  });
  const connected = async () =>
    Object.fromEntries(
      (await client.list<Agent>(Agent)).items.map(({ metadata, status }) => [metadata.name, status?.connected]),
    );
  return { clock, upkeep, connected, present, shown };
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

test("an agent that comes back while it is marked as gone is shown anew", async () => {
  const lastSeen = formatInstant(new FakeClock().now());
  const here = await start({ lost: { connected: true, server: "here", lastSeen } }, async () => {
    // What its object says is right, so that nothing is written of it.
    here.present.add("lost");
  });
  here.upkeep.start();
  await here.clock.advance(20_000);
  expect(here.shown).toEqual(["lost"]);
  here.upkeep.close();
});

test("an agent that has come to another server meanwhile is left as that one shows it", async () => {
  const lastSeen = formatInstant(new FakeClock().now());
  const { upkeep, connected, clock, shown } = await start(
    { moved: { connected: true, server: "here", lastSeen } },
    async (client) => {
      const body = { status: { connected: true, server: "there" } };
      await client.patch({ type: Agent, name: "moved" }, { type: "merge", body }, { subresource: "status" });
    },
  );
  upkeep.start();
  await clock.advance(20_000);
  expect(await connected()).toEqual({ moved: true });
  expect(shown).toEqual([]);
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
