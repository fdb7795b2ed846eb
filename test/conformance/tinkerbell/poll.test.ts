import { afterAll, beforeAll, expect, test } from "vitest";
import { Place } from "#dialects/tinkerbell/server/testing/place.ts";
import { type Answer, PythonClient } from "./python-client.ts";

// The loop of released agents, as they carry it out: ask, report the start, run, report the end; exit when the report of an end is refused for good.

let place: Place;
let client: PythonClient;
beforeAll(async () => {
  place = await Place.start({ pollHold: 0 });
  client = await PythonClient.start(place.port);
});
afterAll(async () => {
  await client?.close();
  await place?.close();
});

const ask = async (agent_id: string): Promise<Answer> =>
  await client.call("/proto.WorkflowService/GetAction", "proto.ActionRequest", "proto.ActionResponse", { agent_id });

const report = async (action: Readonly<Record<string, unknown>>, action_state: string): Promise<string> => {
  const { workflow_id, task_id, agent_id, action_id, name: action_name } = action;
  const ids = { workflow_id, task_id, agent_id, action_id, action_name };
  const body = { ...ids, action_state, execution_start: "0001-01-01T00:00:00Z", message: { message: "done" } };
  const path = "/proto.WorkflowService/ReportActionStatus";
  return (await client.call(path, "proto.ActionStatusRequest", "proto.ActionStatusResponse", body)).code;
};

/** Runs what there is until there is nothing: names of actions in the order they ran. `during` happens while an action runs. */
async function loop(agent: string, during: (action: string) => Promise<void> = async () => undefined) {
  const ran: string[] = [];
  for (;;) {
    const { code, messages } = await ask(agent);
    const [action] = messages;
    if (code !== "OK" || action === undefined) return { ran, code };
    if ((await report(action, "RUNNING")) !== "OK") continue;
    expect(Number(action["timeout"])).toBeGreaterThan(0);
    ran.push(String(action["name"]));
    await during(String(action["name"]));
    // Anything else but a storage that is not there would end the agent's process.
    expect(await report(action, "SUCCESS")).toBe("OK");
  }
}

test("an agent carries out all its workflows, in order, and is told when there are none", async () => {
  for (const name of ["first", "second"]) {
    await place.create(name, { agentID: "poller" });
    await place.clock.advance(1000);
  }
  expect(await loop("poller")).toEqual({ ran: ["one", "two", "one", "two"], code: "NOT_FOUND" });
  for (const name of ["first", "second"]) expect((await place.state(name)).phase).toBe("Succeeded");
});

test("an agent whose workflow is cancelled while an action runs stays alive and takes the next", async () => {
  await place.create("cancelled", { agentID: "survivor" });
  await place.clock.advance(1000);
  await place.create("next", { agentID: "survivor" });
  let isFirst = true;
  const { ran } = await loop("survivor", async () => {
    if (isFirst) await place.write("cancelled", (state) => ({ ...state, phase: "Cancelling" }));
    isFirst = false;
  });
  expect(ran).toEqual(["one", "one", "two"]);
  expect((await place.state("cancelled")).phase).toBe("Canceled");
  expect((await place.state("next")).phase).toBe("Succeeded");
});

test("an agent whose workflow is deleted while an action runs stays alive", async () => {
  await place.create("deleted", { agentID: "witness" });
  expect(await loop("witness", async () => await place.remove("deleted"))).toEqual({ ran: ["one"], code: "NOT_FOUND" });
});
