import { afterEach, expect, test } from "vitest";
import { workflowV2 } from "#kernel/rpc/index.ts";
import { isRefused, RpcClient } from "#kernel/rpc/testing/index.ts";
import { refOf } from "../stored.ts";
import { namespace, Place } from "./testing/place.ts";

const { getWorkflows, publishEvent } = workflowV2.WorkflowService.method;
const places: Place[] = [];
afterEach(async () => {
  for (const place of places.splice(0)) await place.close();
});

/** An agent that carries out whatever it is sent, and again if it is sent it again; what it was sent, in order. */
async function workOff(client: RpcClient, agentId: string, count: number): Promise<readonly string[]> {
  const stream = client.serverStream(getWorkflows, { agentId });
  const done: string[] = [];
  const tell = async (
    workflowId: string,
    kind: "actionStarted" | "actionSucceeded",
    actionId: string,
  ): Promise<void> => {
    const answer = await client.unary(publishEvent, {
      event: { workflowId, event: { case: kind, value: { actionId } } },
    });
    if (isRefused(answer)) throw new Error(`${workflowId} ${kind} ${actionId}: ${answer.code} ${answer.message}`);
  };
  while (done.length < count) {
    await expect.poll(() => stream.messages.length, { interval: 1 }).toBeGreaterThan(done.length);
    const { cmd } = stream.messages[done.length] ?? {};
    if (cmd?.case !== "startWorkflow" || cmd.value.workflow === undefined) throw new Error("told something else");
    const { workflowId, actions } = cmd.value.workflow;
    for (const { id } of actions) {
      await tell(workflowId, "actionStarted", id);
      await tell(workflowId, "actionSucceeded", id);
    }
    done.push(workflowId);
  }
  return done;
}

test("many agents work off their queues side by side: each workflow once, in order, whoever else writes meanwhile", async () => {
  const place = await Place.start();
  places.push(place);
  const agents = Array.from({ length: 20 }, (_, at) => `agent-${at}`);
  const wanted = new Map<string, string[]>();
  for (let round = 0; round < 8; round += 1) {
    for (const agentID of agents) {
      const id = await place.create(`${agentID}-${9 - round}`, { agentID });
      wanted.set(agentID, [...(wanted.get(agentID) ?? []), id]);
    }
    await place.clock.advance(1000);
  }
  // Somebody touches all of them all the time, so that writes conflict.
  const over = { is: false };
  const rival = (async (): Promise<void> => {
    for (let turn = 0; !over.is; turn += 1) {
      const name = `agent-${turn % agents.length}-${9 - (turn % 8)}`;
      const body = { metadata: { annotations: { turn: String(turn) } } };
      await place.store.patch(refOf(namespace, name), { type: "merge", body });
      await place.clock.advance(5);
    }
  })();
  const client = place.client();
  const done = await Promise.all(agents.map((agentID) => workOff(client, agentID, 8)));
  over.is = true;
  await rival;
  expect(done).toEqual(agents.map((agentID) => wanted.get(agentID)));
  for (const agentID of agents) {
    for (let round = 0; round < 8; round += 1) {
      const state = await place.state(`${agentID}-${9 - round}`);
      expect(state).toMatchObject({ phase: "Succeeded", dispatch: { attempt: 1, held: false } });
      expect(state.actions.map(({ attempts }) => attempts)).toEqual([1, 1]);
    }
  }
});
