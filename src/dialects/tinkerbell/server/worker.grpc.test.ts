import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { workerV1, workflowV1 } from "#kernel/rpc/index.ts";
import { isRefused, type RpcClient } from "#kernel/rpc/testing/index.ts";
import { action } from "../testing/states.ts";
import { Place } from "./testing/place.ts";

const { State, WorkflowActionStatusSchema } = workerV1;
type State = (typeof State)[keyof typeof State];
const methods = workflowV1.WorkflowService.method;
const places: Place[] = [];
afterEach(async () => {
  for (const place of places.splice(0)) await place.close();
});

async function start(): Promise<Place> {
  const place = await Place.start();
  places.push(place);
  return place;
}

/** The contexts that a worker is given before its stream ends. */
async function contexts(client: RpcClient, workerId = "agent-a") {
  const stream = client.serverStream(methods.getWorkflowContexts, { workerId });
  expect(await stream.end.promise).toBeUndefined();
  return stream.messages.map(({ workflowId, currentAction, currentActionIndex }) => [
    workflowId,
    currentAction,
    currentActionIndex,
  ]);
}

/** Code and message of the answer to a report. */
async function report(client: RpcClient, actionName: string, actionStatus: State, more: object = {}) {
  const told = {
    workflowId: "default/wf",
    taskName: "on agent-a",
    actionName,
    actionStatus,
    seconds: 1n,
    message: "m",
    ...more,
  };
  const bytes = Buffer.from(toBinary(WorkflowActionStatusSchema, create(WorkflowActionStatusSchema, told)));
  const answer = await client.bytes(methods.reportActionStatus, bytes);
  return isRefused(answer) ? `${answer.code} ${answer.message}` : "OK";
}

test("a worker carries out a workflow by its names, one at a time", async () => {
  const place = await start();
  await place.create("wf");
  await place.clock.advance(1000);
  await place.create("younger");
  const client = place.client();
  expect(await contexts(client)).toEqual([["default/wf", "", 0n]]);
  expect(await place.state("wf")).toMatchObject({ phase: "Scheduled", dispatch: { protocol: "worker" } });
  for (const name of ["one", "two"]) {
    expect(await report(client, name, State.RUNNING)).toBe("OK");
    expect(await report(client, name, State.SUCCESS)).toBe("OK");
  }
  expect((await place.state("wf")).phase).toBe("Succeeded");
  expect(await contexts(client)).toEqual([["default/younger", "", 0n]]);
});

test("a worker that has begun anew is given the action that it was at, and reports its start again", async () => {
  const place = await start();
  await place.create("wf");
  const client = place.client();
  await contexts(client);
  await report(client, "one", State.RUNNING);
  await report(client, "one", State.SUCCESS);
  await report(client, "two", State.RUNNING);
  expect(await contexts(client)).toEqual([["default/wf", "two", 1n]]);
  expect(await report(client, "two", State.RUNNING)).toBe("OK");
  expect((await place.state("wf")).actions[1]).toMatchObject({ phase: "Running", attempts: 2 });
});

test("actions are told whole, those of other workers as well", async () => {
  const place = await start();
  const actions = [
    action("one", { env: { B: "2", A: "1" }, volumes: ["/a:/a"], timeout: 90_000 }),
    action("two", {}, "agent-b"),
  ];
  await place.create("wf", { actions });
  const answer = await place.client().unary(methods.getWorkflowActions, { workflowId: "default/wf" });
  expect(answer).toMatchObject({
    actionList: [
      {
        taskName: "on agent-a",
        name: "one",
        environment: ["A=1", "B=2"],
        volumes: ["/a:/a"],
        timeout: 90n,
        workerId: "agent-a",
      },
      { taskName: "on agent-b", name: "two", timeout: 315_360_000n, workerId: "agent-b" },
    ],
  });
});

test("a worker finds its own spelling of its id in the actions that are its own: it compares letter by letter", async () => {
  const place = await start();
  const [documented, own, other] = ["02:00:00:00:00:0A", "02-00-00-00-00-0a", "02:00:00:00:00:0B"];
  await place.create("wf", { agentID: documented, actions: [action("one", {}, documented), action("two", {}, other)] });
  const client = place.client();
  expect(await contexts(client, own)).toHaveLength(1);
  const answer = await client.unary(methods.getWorkflowActions, { workflowId: "default/wf" });
  expect(answer).toMatchObject({ actionList: [{ workerId: own }, { workerId: other }] });
});

test("a failure is recorded with what the worker says", async () => {
  const place = await start();
  await place.create("wf");
  const client = place.client();
  await contexts(client);
  await report(client, "one", State.RUNNING);
  expect(await report(client, "one", State.FAILED, { message: "no disk" })).toBe("OK");
  expect(await place.state("wf")).toMatchObject({
    phase: "Failed",
    reason: "RuntimeError",
    message: 'action "one" failed: no disk',
  });
});

test.each([
  ["no workflow", { workflowId: "" }, "invalid workflow id"],
  ["no task", { taskName: "" }, "invalid task name"],
  ["no action", { actionName: "" }, "invalid action name"],
  ["a task that is not there", { taskName: "x" }, "reported task name does not match the current action details"],
  [
    "an action that is not there",
    { actionName: "x" },
    "reported action name does not match the current action details",
  ],
])("a report that names %s is refused in the words that workers know", async (_what, more, message) => {
  const place = await start();
  await place.create("wf");
  expect(await report(place.client(), "one", State.RUNNING, more)).toBe(`INVALID_ARGUMENT ${message}`);
});

test("a state that the protocol does not have is refused", async () => {
  const place = await start();
  await place.create("wf");
  const client = place.client();
  await contexts(client);
  for (const state of [0, 5, 99])
    expect(await report(client, "one", State.RUNNING, { actionStatus: state })).toMatch("INVALID_ARGUMENT");
});

test("the end of an action whose workflow has gone is answered OK, because a worker would tell it for ever; a start is refused", async () => {
  const place = await start();
  await place.create("wf");
  const client = place.client();
  await contexts(client);
  await report(client, "one", State.RUNNING);
  await place.remove("wf");
  for (const state of [State.SUCCESS, State.FAILED, State.TIMEOUT])
    expect(await report(client, "one", state)).toBe("OK");
  expect(await report(client, "two", State.RUNNING)).toMatch("NOT_FOUND");
  // Another one of its name, of which nobody was told.
  await place.create("wf");
  expect(await report(client, "one", State.SUCCESS)).toBe("OK");
  expect((await place.state("wf")).phase).toBe("Pending");
});

test("a worker without workflows is given none", async () => {
  const place = await start();
  expect(await contexts(place.client())).toEqual([]);
});
