import { expect, test } from "vitest";
import { messageOf, silentLog, systemClock } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { RpcClient } from "#kernel/rpc/testing/index.ts";
import { Agent } from "#kernel/agents/index.ts";
import { Workflow, WorkflowV2 } from "../kinds.ts";
import { addTinkerbellServer } from "./server.ts";
import { TestAgent } from "./testing/place.ts";

/** A manager with nothing but the server. */
function manage(listen: string) {
  const client = memoryClient({ types: [Workflow, WorkflowV2, Agent] });
  const manager = new Manager({ client, clock: systemClock, log: silentLog, random: seededRandom(1) });
  const { port } = addTinkerbellServer(manager, { listen });
  const stop = new AbortController();
  return { port, running: manager.run(stop.signal), stop: () => stop.abort(new Error("the test is over")) };
}

test("it listens while its manager runs, and streams end with UNAVAILABLE when that stops", async () => {
  const { port, running, stop } = manage("127.0.0.1:0");
  const client = new RpcClient(await port);
  const agent = new TestAgent(client, "agent-a", {});
  expect((await agent.stream.headers.promise).get("x-slipway-features")).toEqual(["resume"]);
  stop();
  expect(await agent.stream.end.promise).toMatchObject({ code: "UNAVAILABLE" });
  await running;
  client.close();
});

test("an address that is taken ends the manager, with the address in the message", async () => {
  const first = manage("127.0.0.1:0");
  const address = `127.0.0.1:${await first.port}`;
  const { port, running } = manage(address);
  expect(await running.then(String, messageOf)).toContain(address);
  await expect(port).rejects.toThrow(address);
  first.stop();
  await first.running;
});
