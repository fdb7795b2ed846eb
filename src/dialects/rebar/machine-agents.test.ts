import { expect, test } from "vitest";
import { Agent } from "#kernel/agents/index.ts";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { MachineAgents } from "./machine-agents.ts";
import type { Machine } from "./objects.ts";
import type { World } from "./world.ts";

const machine = "0b7b1d0c-5b0e-4a8b-8b64-6f1d7c0c2a11";

function start() {
  const clock = new FakeClock();
  const client = memoryClient({ clock, types: [Agent] });
  const recorder = {
    dropped: 0,
    record: () => undefined,
    flush: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const known = { Uuid: machine, Workflow: "discover" } as unknown as Machine;
  const world = { get: (_: string, key: string) => (key === machine ? known : undefined) } as unknown as World;
  const agents = new MachineAgents({ client, clock, log: silentLog, recorder, server: "s", world });
  const status = async () => (await client.get<Agent>({ type: Agent, name: machine })).status;
  return { clock, agents, status };
}

test("a machine whose agent asks is shown as connected, and as gone when it is silent", async () => {
  const { clock, agents, status } = start();
  agents.heard(machine);
  await clock.advance(0);
  expect(await status()).toMatchObject({ connected: true, protocol: "rest", currentWorkflow: "discover", server: "s" });
  await clock.advance(60_000);
  agents.heard(machine.toUpperCase());
  await clock.advance(60_000);
  expect(await status()).toMatchObject({ connected: true });
  await clock.advance(60_000);
  expect(await status()).toMatchObject({ connected: false });
  await agents.close();
});

test("one with an open event stream is there, however long it waits; several streams of it are one agent", async () => {
  const { clock, agents, status } = start();
  const ends = [agents.streamed(machine), agents.streamed(machine)];
  await clock.advance(3_600_000);
  expect(await status()).toMatchObject({ connected: true });
  ends[0]?.();
  await clock.advance(3_600_000);
  expect(await status()).toMatchObject({ connected: true });
  ends[1]?.();
  await clock.advance(180_000);
  expect(await status()).toMatchObject({ connected: false });
  await agents.close();
});
