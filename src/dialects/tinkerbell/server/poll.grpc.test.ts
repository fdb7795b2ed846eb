import { fromBinary } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { rpcStatus, workflowV1 } from "#kernel/rpc/index.ts";
import { isRefused, type RpcClient } from "#kernel/rpc/testing/index.ts";
import { fail } from "../transitions.ts";
import { action, begin, settings } from "../testing/states.ts";
import { Place } from "./testing/place.ts";

const StateType = workflowV1.ActionStatusRequest_StateType;
type State = (typeof StateType)[keyof typeof StateType];
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

const poll = <T>(read: () => T) => expect.poll(read, { interval: 5 });

/** What an agent is given: the workflow and the action by name, or the code of the refusal. */
async function ask(client: RpcClient, agentId = "agent-a") {
  const answer = await client.unary(methods.getAction, { agentId });
  return isRefused(answer) ? answer.code : `${answer.workflowId?.split("/")[1]} ${answer.name}`;
}

async function report(client: RpcClient, workflowId: string, name: string, actionState: State, more: object = {}) {
  const executionStart = { seconds: -62_135_596_800n };
  const request = {
    workflowId,
    agentId: "agent-a",
    taskId: "task",
    actionId: `id-${name}`,
    actionState,
    executionStart,
    ...more,
  };
  const answer = await client.unary(methods.reportActionStatus, request);
  return isRefused(answer) ? answer.code : "OK";
}

test("a workflow runs to its end by questions and reports", async () => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  for (const name of ["one", "two"]) {
    expect(await ask(client)).toBe(`wf ${name}`);
    expect(await report(client, id, name, StateType.RUNNING)).toBe("OK");
    expect(await report(client, id, name, StateType.SUCCESS)).toBe("OK");
  }
  expect(await place.state("wf")).toMatchObject({
    phase: "Succeeded",
    dispatch: { protocol: "poll", held: false, attempt: 1 },
  });
  expect(await ask(client)).toBe("NOT_FOUND");
});

test("an action is told whole, with its environment sorted and a limit that is no limit", async () => {
  const place = await start();
  const actions = [action("one", { args: ["-c", "true"], env: { B: "2", A: "1=1" }, volumes: ["/a:/a"], pid: "host" })];
  await place.create("wf", { actions });
  const answer = await place.client().unary(methods.getAction, { agentId: "agent-a" });
  expect(answer).toMatchObject({
    taskId: "task-agent-a",
    agentId: "agent-a",
    actionId: "id-one",
    timeout: 315_360_000n,
    command: ["-c", "true"],
    environment: ["A=1=1", "B=2"],
    volumes: ["/a:/a"],
    pid: "host",
    namespaces: { pid: "host" },
  });
});

test("an agent without an id is refused in the words that it knows", async () => {
  const place = await start();
  expect(await place.client().unary(methods.getAction, {})).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: "invalid Agent ID",
  });
});

test("an agent for which something will come is told so by the standard's detail", async () => {
  const place = await start();
  await place.create("wf", { phase: "Preparing" });
  const answer = await place.client().unary(methods.getAction, { agentId: "agent-a" });
  if (!isRefused(answer)) throw new Error("it was served");
  expect(answer.code).toBe("FAILED_PRECONDITION");
  const status = fromBinary(
    rpcStatus.StatusSchema,
    Buffer.from(answer.metadata.get("grpc-status-details-bin")[0] ?? ""),
  );
  const detail = fromBinary(rpcStatus.PreconditionFailureSchema, status.details[0]?.value ?? new Uint8Array());
  expect(detail.violations[0]?.type).toBe("PRECONDITION_FAILURE_VIOLATION_NO_ACTION_AVAILABLE");
});

test("an agent is shown with what it tells of its machine, and as gone when it is silent and has nothing to do", async () => {
  const place = await start();
  const client = place.client();
  await client.unary(methods.getAction, { agentId: "agent-a", agentAttributes: { cpu: { totalCores: 4 } } });
  await poll(() => place.agentStatus("agent-a").catch(() => undefined)).toMatchObject({
    connected: true,
    attributes: { cpu: { total_cores: 4 } },
  });
  await place.create("wf");
  await ask(client);
  await place.clock.advance(300_000);
  expect(await place.agentStatus("agent-a")).toMatchObject({ connected: true });
  const wf = await place.workflow("wf");
  for (const name of ["one", "two"]) await report(client, `default/wf/${wf.metadata.uid}`, name, StateType.SUCCESS);
  await place.clock.advance(60_000);
  await poll(() => place.agentStatus("agent-a")).toMatchObject({ connected: false });
});

test("a question is held until there is something to do", async () => {
  const place = await start({ pollHold: 30_000 });
  const client = place.client();
  const answer = ask(client);
  await poll(() => place.agentStatus("agent-a").catch(() => undefined)).toMatchObject({
    connected: true,
    protocol: "poll",
  });
  await place.create("wf");
  expect(await answer).toBe("wf one");
});

test("a question that is held too long is answered, and one of the same agent ends it before", async () => {
  const place = await start({ pollHold: 30_000 });
  const [first, second] = [ask(place.client()), ask(place.client())];
  expect(await Promise.race([first, second])).toBe("NOT_FOUND");
  await place.clock.advance(29_000);
  const state = { ended: 0 };
  for (const answer of [first, second]) void answer.then(() => (state.ended += 1));
  await poll(() => state.ended).toBe(1);
  await place.clock.advance(2000);
  expect(await Promise.all([first, second])).toEqual(["NOT_FOUND", "NOT_FOUND"]);
});

test("an action whose start was lost is given again, as the same dispatch", async () => {
  const place = await start();
  await place.create("wf");
  const client = place.client();
  expect([await ask(client), await ask(client)]).toEqual(["wf one", "wf one"]);
  expect(await place.state("wf")).toMatchObject({ phase: "Scheduled", dispatch: { attempt: 1 } });
});

test("an agent that asks while its action runs was interrupted: it gets it again, three times at most", async () => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  for (const attempt of [1, 2, 3]) {
    expect(await ask(client)).toBe("wf one");
    expect(await report(client, id, "one", StateType.RUNNING)).toBe("OK");
    expect((await place.state("wf")).actions[0]).toMatchObject({ phase: "Running", attempts: attempt });
  }
  expect(await ask(client)).toBe("NOT_FOUND");
  expect(await place.state("wf")).toMatchObject({ phase: "Failed", reason: "ActionInterrupted" });
});

test("an agent whose workflow is cancelled in the middle stays alive and takes the next", async () => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  await ask(client);
  await report(client, id, "one", StateType.RUNNING);
  await place.clock.advance(1000);
  await place.create("next");
  await place.write("wf", (state) => ({ ...state, phase: "Cancelling" }));
  expect(await report(client, id, "one", StateType.SUCCESS)).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ phase: "Canceled" });
  expect(await ask(client)).toBe("next one");
});

test("a question confirms that a cancelled workflow has stopped", async () => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  await ask(client);
  await report(client, id, "one", StateType.RUNNING);
  await place.write("wf", (state) => ({ ...state, phase: "Cancelling" }));
  expect(await ask(client)).toBe("NOT_FOUND");
  expect(await place.state("wf")).toMatchObject({ phase: "Canceled", dispatch: { held: false } });
});

test("a workflow that has ended does not hide a newer one", async () => {
  const place = await start();
  await place.create("old");
  const client = place.client();
  await ask(client);
  const reason = { reason: "ScheduledTimeout", message: "late", isFree: false };
  await place.write("old", (state) => fail(state, reason, begin, settings).state);
  await place.create("new");
  expect(await ask(client)).toBe("new one");
  expect((await place.state("old")).dispatch.held).toBe(false);
});

test("a start that must not be is refused", async () => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  await ask(client);
  expect(await report(client, id, "two", StateType.RUNNING)).toBe("FAILED_PRECONDITION");
  expect(await report(client, id, "three", StateType.RUNNING)).toBe("NOT_FOUND");
  expect(await report(client, "default/none/uid", "one", StateType.RUNNING)).toBe("NOT_FOUND");
});

test.each([
  ["an action that is not known", "three"],
  ["an action that is not the next", "two"],
])("the end of %s is answered as if it were recorded, so that the agent lives", async (_what, name) => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  await ask(client);
  expect(await report(client, id, name, StateType.SUCCESS)).toBe("OK");
  expect(await report(client, "default/none/uid", name, StateType.FAILED)).toBe("OK");
  expect((await place.state("wf")).phase).toBe("Scheduled");
  await poll(() => place.reasons()).toEqual(expect.arrayContaining([name === "two" ? "OutOfOrderEvent" : "LateEvent"]));
});

test("a failure and a timeout are recorded in the words that there are", async () => {
  const place = await start();
  const client = place.client();
  for (const [name, state, reason] of [
    ["failed", StateType.FAILED, "RuntimeError"],
    ["late", StateType.TIMEOUT, "ActionTimeout"],
  ] as const) {
    const id = await place.create(name);
    expect(await ask(client)).toBe(`${name} one`);
    await report(client, id, "one", StateType.RUNNING);
    expect(await report(client, id, "one", state)).toBe("OK");
    expect(await place.state(name)).toMatchObject({ phase: "Failed", reason });
  }
});

test("a state that the protocol does not have is refused", async () => {
  const place = await start();
  const id = await place.create("wf");
  const client = place.client();
  await ask(client);
  for (const state of [0, 1, 6, 99])
    expect(await report(client, id, "one", StateType.RUNNING, { actionState: state })).toBe("INVALID_ARGUMENT");
  expect(await report(client, id, "one", StateType.RUNNING)).toBe("OK");
});

test("a question takes the place of the agent's stream, which ends; the workflow is given to the question alone", async () => {
  const place = await start({ pollHold: 60_000 });
  const agent = place.agent();
  await agent.stream.headers.promise;
  const asked = ask(place.client());
  expect(await agent.stream.end.promise).toMatchObject({
    code: "ABORTED",
    message: "superseded by a newer connection",
  });
  const id = await place.create("wf");
  expect(await asked).toBe("wf one");
  expect(agent.told).toEqual([]);
  expect(await report(place.client(), id, "one", StateType.RUNNING)).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ dispatch: { protocol: "poll", attempt: 1 } });
  await expect.poll(() => place.reasons()).toContain("DuplicateAgent");
});

test("a stream takes the place of the agent's question, which ends; the workflow is given to the stream alone", async () => {
  const place = await start({ pollHold: 60_000 });
  const asked = ask(place.client());
  await expect.poll(async () => (await place.agentStatus("agent-a"))?.connected).toBe(true);
  const agent = place.agent();
  await agent.stream.headers.promise;
  expect(await asked).toBe("ABORTED");
  const id = await place.create("wf");
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  expect(await report(place.client(), id, "one", StateType.RUNNING)).toBe("FAILED_PRECONDITION");
  expect(await agent.tell(id, { is: "started" })).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ actions: [{ attempts: 1 }, {}] });
});

test("a workflow that was given to the older connection and not begun is the newer one's; the older cannot begin it", async () => {
  const place = await start({ pollHold: 60_000 });
  const id = await place.create("wf");
  const agent = place.agent();
  await poll(() => agent.told).toEqual(["start wf: one two"]);
  const client = place.client();
  expect(await ask(client)).toBe("wf one");
  expect(await agent.tell(id, { is: "started" })).toBe("FAILED_PRECONDITION");
  expect(await report(client, id, "one", StateType.RUNNING)).toBe("OK");
  expect(await place.state("wf")).toMatchObject({ actions: [{ attempts: 1 }, {}] });
});

test("an action that runs by the older connection is not started again by the newer one, and its end is recorded", async () => {
  const place = await start({ pollHold: 60_000 });
  const id = await place.create("wf");
  const first = place.agent();
  await poll(() => first.told).toEqual(["start wf: one two"]);
  await first.tell(id, { is: "started" });
  const asked = ask(place.client());
  await first.stream.end.promise;
  await expect.poll(() => place.reasonsOf("wf")).toContain("DuplicateAgent");
  expect(await first.tell(id, { is: "succeeded" })).toBe("OK");
  // What comes next is the newer connection's.
  expect(await asked).toBe("wf two");
  expect(await report(place.client(), id, "two", StateType.RUNNING)).toBe("OK");
  const second = place.agent();
  await second.stream.headers.promise;
  expect(await report(place.client(), id, "two", StateType.SUCCESS)).toBe("OK");
  expect(second.told).toEqual([]);
  expect(await place.state("wf")).toMatchObject({ phase: "Succeeded", actions: [{ attempts: 1 }, { attempts: 1 }] });
});

test("a report that names neither a state nor an action is refused", async () => {
  const place = await start();
  const answer = await place.client().bytes(methods.reportActionStatus, Buffer.from([0x0a, 0x01, 0x61]));
  expect(answer).toMatchObject({ code: "INVALID_ARGUMENT" });
});
