import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { Secret } from "#kernel/model/index.ts";
import { workerV1, workflowV1 } from "#kernel/rpc/index.ts";
import { isRefused } from "#kernel/rpc/testing/index.ts";
import { WorkflowV2 } from "../kinds.ts";
import { type AnyWorkflow, storeState } from "../stored.ts";
import { action, pending } from "../testing/states.ts";
import { Place, type TestAgent } from "./testing/place.ts";
import { tokenSecret } from "./identity.ts";
import { workflowId } from "./workflow-id.ts";

const first = "02:00:00:00:00:01";
const second = "02:00:00:00:00:02";
const methods = workflowV1.WorkflowService.method;
const places: Place[] = [];
afterEach(async () => {
  for (const place of places.splice(0)) await place.close();
});

async function start(options: Parameters<typeof Place.start>[0] = {}): Promise<Place> {
  const place = await Place.start({ pollHold: 0, ...options });
  places.push(place);
  return place;
}

/** A workflow of a machine with two interfaces, as it is when it was prepared. */
async function createFor(place: Place, name: string): Promise<string> {
  const created = await place.store.create<AnyWorkflow>(WorkflowV2, {
    apiVersion: "tinkerbell.org/v1alpha2",
    kind: "Workflow",
    metadata: { name, namespace: "default" },
    spec: { templateRef: { name: "t" }, hardwareRef: { name: "h" } },
  });
  const actions = [action("one", {}, first), action("two", {}, first)];
  const state = pending({ shape: "B", agentID: first, otherAgentIDs: [second], actions });
  return workflowId(await storeState(place.store, created, state, place.clock.now()));
}

const statusOf = async (place: Place, name: string) => (await place.workflow(name)).status ?? {};
const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });
const started = (agent: TestAgent) => agent.told.filter((command) => command.startsWith("start"));

test("whoever has any address of the machine takes its workflow, in any spelling, and carries it out", async () => {
  const place = await start();
  const agent = place.agent("02-00-00-00-00-02");
  const id = await createFor(place, "w");
  await poll(() => agent.told).toEqual(["start w: one two"]);
  const status = await statusOf(place, "w");
  expect(status).toMatchObject({ agentID: second, dispatch: { agentID: "02-00-00-00-00-02" } });
  expect(status).not.toHaveProperty("otherAgentIDs");
  for (const name of ["one", "two"])
    for (const is of ["started", "succeeded"] as const) expect(await agent.tell(id, { is, action: name })).toBe("OK");
  expect(await place.state("w")).toMatchObject({ phase: "Succeeded", dispatch: { held: false } });
});

test("of several that come one alone has each workflow; refused, it waits for the same one", async () => {
  const place = await start();
  const agents = [place.agent(first), place.agent(second)];
  for (const agent of agents) await agent.stream.headers.promise;
  const ids = [await createFor(place, "a"), await createFor(place, "b")];
  await poll(() => agents.flatMap(started).toSorted()).toEqual(["start a: one two", "start b: one two"]);
  const taker = agents.find((agent) => started(agent).includes("start a: one two"));
  expect(await taker?.tell(ids[0] ?? "", { is: "rejected" })).toBe("OK");
  const { agentID } = await statusOf(place, "a");
  expect(agentID).toBe(taker === agents[0] ? first : second);
  await place.clock.advance(600_000);
  await poll(() => agents.flatMap(started).filter((command) => command.startsWith("start a"))).toHaveLength(2);
  expect(await statusOf(place, "a")).toMatchObject({ agentID, dispatch: { agentID, attempt: 2 } });
});

test("agents that poll and workers take by any address, too", async () => {
  const place = await start();
  const client = place.client();
  expect(await client.unary(methods.getAction, { agentId: second })).toMatchObject({ code: "NOT_FOUND" });
  await createFor(place, "polled");
  await poll(async () => {
    const answer = await client.unary(methods.getAction, { agentId: second });
    return isRefused(answer) ? answer.code : [answer.name, answer.agentId];
  }).toEqual(["one", second]);
  await createFor(place, "worked");
  const contexts = async () => {
    const stream = client.serverStream(methods.getWorkflowContexts, { workerId: first });
    await stream.end.promise;
    return stream.messages.map(({ workflowId, currentWorker }) => [workflowId, currentWorker]);
  };
  await poll(contexts).toEqual([["default/worked", first]]);
});

test("before it is taken it is any of theirs, and then its taker's alone", async () => {
  const place = await start({ auth: { mode: "token", namespace: "default" } });
  const data = Object.fromEntries(
    [first, second].map((id) => [createHash("sha256").update(id).digest("hex"), btoa(id)]),
  );
  const metadata = { name: tokenSecret, namespace: "default" };
  await place.store.create(Secret, { apiVersion: "v1", kind: "Secret", metadata, data });
  const bearer = (id: string) => ({ authorization: `Bearer ${id}` });
  const id = await createFor(place, "w");
  const other = place.agent("none");
  await poll(() => other.tell(id, { is: "started" }, bearer(second))).toBe("FAILED_PRECONDITION");
  expect(await other.tell(id, { is: "started" }, bearer(first))).toBe("FAILED_PRECONDITION");
  const agent = place.agent(second, bearer(second));
  await poll(() => agent.told).toEqual(["start w: one two"]);
  expect(await agent.tell(id, { is: "started" }, bearer(first))).toBe("PERMISSION_DENIED");
  expect(await agent.tell(id, { is: "started" }, bearer(second))).toBe("OK");
  const { State, WorkflowActionStatusSchema } = workerV1;
  const told = { workflowId: "default/w", taskName: "w", actionName: "one", actionStatus: State.RUNNING };
  const bytes = Buffer.from(toBinary(WorkflowActionStatusSchema, create(WorkflowActionStatusSchema, told)));
  expect(await place.client().bytes(methods.reportActionStatus, bytes, bearer(first))).toMatchObject({
    code: "PERMISSION_DENIED",
  });
});
