import { expect, test } from "vitest";
import { FakeClock, formatInstant, silentLog } from "#lib/base/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { Agent } from "./agent-kind.ts";
import { AgentRecords } from "./agent-records.ts";
import { AgentUpkeep } from "./agent-upkeep.ts";

const recorder = {
  dropped: 0,
  record: () => undefined,
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

test("agents that come back to a server that was killed cost no write, however slowly they come; those that do not, one each", async () => {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [Agent] });
  const ids = Array.from({ length: 1000 }, (_, at) => `agent-${at}`);
  const status = {
    connected: true,
    server: "s",
    protocol: "stream",
    currentWorkflow: null,
    lastSeen: formatInstant(clock.now()),
  };
  for (const agentID of ids) {
    const metadata = { name: agentID };
    await client.create<Agent>(Agent, {
      apiVersion: "slipway.dev/v1alpha1",
      kind: "Agent",
      metadata,
      spec: { agentID },
    });
    await client.patch({ type: Agent, name: agentID }, { type: "merge", body: { status } }, { subresource: "status" });
  }
  const written: string[] = [];
  const patch = client.patch.bind(client);
  client.patch = (ref, ...rest) => {
    written.push(ref.name);
    return patch(ref, ...rest);
  };
  const present = new Set<string>();
  const isPresent = (agentID: string): boolean => present.has(agentID);
  const parts = { client, clock, log: silentLog, server: "s" };
  const records = new AgentRecords({
    ...parts,
    keyOf: (id) => id,
    recorder,
    workflowOf: () => undefined,
    isNamed: () => true,
  });
  const upkeep = new AgentUpkeep({ ...parts, show: () => undefined, isPresent });
  upkeep.start();
  const [lost, back] = [ids.slice(0, 3), ids.slice(3)];
  // Fifty seconds, where it is looked at them for the first time after twenty.
  for (const agentID of back) {
    present.add(agentID);
    records.came({ agentID }, "stream");
    upkeep.came();
    await clock.advance(50);
  }
  expect(written).toEqual([]);
  await clock.advance(5000);
  expect(written.toSorted()).toEqual(lost.toSorted());
  upkeep.close();
  await records.close();
});
