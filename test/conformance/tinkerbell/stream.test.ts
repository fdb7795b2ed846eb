import { afterAll, beforeAll, expect, test } from "vitest";
import { fail } from "#dialects/tinkerbell/transitions.ts";
import { begin, settings } from "#dialects/tinkerbell/testing/states.ts";
import { Place } from "#dialects/tinkerbell/server/testing/place.ts";
import { type OpenCall, PythonClient } from "./python-client.ts";

// The command stream and every row on late, double and unordered events, driven by a client that shares no code with the server.

const v2 = "internal.proto.workflow.v2";
let place: Place;
let client: PythonClient;
beforeAll(async () => {
  place = await Place.start();
  client = await PythonClient.start(place.port);
});
afterAll(async () => {
  await client?.close();
  await place?.close();
});

type Told = readonly ["started" | "succeeded" | "failed" | "rejected", ("one" | "two" | "three")?];

async function tell(workflow_id: string, [is, action = "one"]: Told): Promise<string> {
  const action_id = `id-${action}`;
  const event = {
    started: { action_started: { action_id } },
    succeeded: { action_succeeded: { action_id } },
    failed: { action_failed: { action_id, failure_reason: "DiskMissing", failure_message: "no /dev/sda" } },
    rejected: { workflow_rejected: { failure_reason: "WorkflowInProgress", failure_message: "busy" } },
  }[is];
  const request = { event: { workflow_id, ...event } };
  const path = `/${v2}.WorkflowService/PublishEvent`;
  return (await client.call(path, `${v2}.PublishEventRequest`, `${v2}.PublishEventResponse`, request)).code;
}

const connect = (agent_id: string): OpenCall =>
  client.open(`/${v2}.WorkflowService/GetWorkflows`, `${v2}.GetWorkflowsRequest`, `${v2}.GetWorkflowsResponse`, {
    agent_id,
  });

const countOf = (call: OpenCall, command: "start_workflow" | "stop_workflow") =>
  call.messages.filter((message) => command in message).length;

/** How the workflow is changed by somebody else before the event that a row is about. */
const changes = {
  none: async () => undefined,
  cancelling: async (name: string) => await place.write(name, (state) => ({ ...state, phase: "Cancelling" })),
  "timed out": async (name: string) =>
    await place.write(
      name,
      (state) => fail(state, { reason: "WorkflowTimeout", message: "late", isFree: false }, begin, settings).state,
    ),
} as const;

interface Row {
  readonly row: string;
  readonly before: readonly Told[];
  readonly change?: keyof typeof changes;
  readonly event: Told;
  readonly code: string;
  readonly state: object;
  /** StopWorkflow commands in the end. */
  readonly stops?: number;
}

const running = { phase: "Running" };
const rows: readonly Row[] = [
  { row: "a start of what runs", before: [["started"]], event: ["started"], code: "OK", state: running },
  { row: "a success of what has succeeded", before: [["succeeded"]], event: ["succeeded"], code: "OK", state: running },
  {
    row: "a success without a start",
    before: [],
    event: ["succeeded"],
    code: "OK",
    state: { ...running, startedAt: begin },
  },
  {
    row: "a start beyond the next action",
    before: [["started"]],
    event: ["started", "two"],
    code: "FAILED_PRECONDITION",
    state: running,
  },
  {
    row: "a success beyond the next action",
    before: [["started"]],
    event: ["succeeded", "two"],
    code: "FAILED_PRECONDITION",
    state: running,
  },
  { row: "a failure after a success", before: [["succeeded"]], event: ["failed"], code: "OK", state: running },
  {
    row: "a success after a failure",
    before: [["failed"]],
    event: ["succeeded"],
    code: "OK",
    state: { phase: "Failed", reason: "DiskMissing" },
  },
  {
    row: "a start while cancelling",
    before: [["succeeded"]],
    change: "cancelling",
    event: ["started", "two"],
    code: "FAILED_PRECONDITION",
    state: { phase: "Cancelling" },
    stops: 2,
  },
  {
    row: "a start after the end",
    before: [["started"]],
    change: "timed out",
    event: ["started"],
    code: "FAILED_PRECONDITION",
    state: { phase: "Failed" },
    stops: 2,
  },
  {
    row: "a success while cancelling",
    before: [["started"]],
    change: "cancelling",
    event: ["succeeded"],
    code: "OK",
    state: { phase: "Cancelling" },
    stops: 1,
  },
  {
    row: "the last success while cancelling",
    before: [["succeeded"], ["started", "two"]],
    change: "cancelling",
    event: ["succeeded", "two"],
    code: "OK",
    state: { phase: "Canceled", message: "all actions had already finished" },
    stops: 1,
  },
  {
    row: "a failure while cancelling",
    before: [["started"]],
    change: "cancelling",
    event: ["failed"],
    code: "OK",
    state: { phase: "Canceled", reason: "Canceled" },
    stops: 1,
  },
  {
    row: "a success after the end",
    before: [["started"]],
    change: "timed out",
    event: ["succeeded"],
    code: "OK",
    state: { phase: "Failed", dispatch: { held: false } },
    stops: 1,
  },
  {
    row: "a failure after the end",
    before: [["started"]],
    change: "timed out",
    event: ["failed"],
    code: "OK",
    state: { phase: "Failed", dispatch: { held: false } },
    stops: 1,
  },
  {
    row: "a rejection of what was dispatched",
    before: [],
    event: ["rejected"],
    code: "OK",
    state: { phase: "Pending", dispatch: { rejections: 1, held: false } },
  },
  {
    row: "a rejection of what is pending",
    before: [["rejected"]],
    event: ["rejected"],
    code: "OK",
    state: { phase: "Pending", dispatch: { rejections: 1 } },
  },
  { row: "a rejection of what runs", before: [["started"]], event: ["rejected"], code: "OK", state: running },
  {
    row: "a rejection while cancelling",
    before: [["started"]],
    change: "cancelling",
    event: ["rejected"],
    code: "OK",
    state: { phase: "Cancelling" },
    stops: 1,
  },
  {
    row: "a rejection after the end",
    before: [["started"]],
    change: "timed out",
    event: ["rejected"],
    code: "OK",
    state: { phase: "Failed", dispatch: { held: true } },
    stops: 1,
  },
  {
    row: "an action that is not known",
    before: [],
    event: ["started", "three"],
    code: "NOT_FOUND",
    state: { phase: "Scheduled" },
  },
];

test.each(rows.map((row, at) => [row.row, `wf-${at}`, row] as const))("%s", async (_row, name, row) => {
  const agentID = `agent-of-${name}`;
  const stream = connect(agentID);
  const id = await place.create(name, { agentID });
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  for (const told of row.before) expect(await tell(id, told)).toBe("OK");
  await changes[row.change ?? "none"](name);
  if (row.change !== undefined) await expect.poll(() => countOf(stream, "stop_workflow")).toBe(1);
  expect(await tell(id, row.event)).toBe(row.code);
  expect(await place.state(name)).toMatchObject(row.state);
  await expect.poll(() => countOf(stream, "stop_workflow")).toBe(row.stops ?? 0);
});

test("a workflow that is recreated under its name does not take events of the one before", async () => {
  const agentID = "agent-of-recreated";
  const stream = connect(agentID);
  const id = await place.create("recreated", { agentID });
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  await place.remove("recreated");
  expect(await tell(id, ["started"])).toBe("NOT_FOUND");
  const anew = await place.create("recreated", { agentID });
  expect(await tell(id, ["started"])).toBe("NOT_FOUND");
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(2);
  expect(await tell(anew, ["started"])).toBe("OK");
});

test("a second stream ends the first with ABORTED", async () => {
  const first = connect("agent-twice");
  await expect.poll(() => place.agentStatus("agent-twice").catch(() => undefined)).toMatchObject({ connected: true });
  connect("agent-twice");
  expect(await first.end.promise).toMatchObject({ code: "ABORTED", message: "superseded by a newer connection" });
});

test("an agent that answers nothing any more is noticed by the server's pings", async () => {
  const own = await Place.start({ keepalive: { time: 300, timeout: 300 } });
  const frozen = await PythonClient.start(own.port);
  try {
    const [path, request, response] = ["GetWorkflows", "GetWorkflowsRequest", "GetWorkflowsResponse"];
    frozen.open(`/${v2}.WorkflowService/${path}`, `${v2}.${request}`, `${v2}.${response}`, {
      agent_id: "agent-frozen",
    });
    await expect.poll(() => own.agentStatus("agent-frozen").catch(() => undefined)).toMatchObject({ connected: true });
    frozen.freeze();
    await expect.poll(() => own.agentStatus("agent-frozen")).toMatchObject({ connected: false });
  } finally {
    await frozen.close();
    await own.close();
  }
});

test("an agent without an id is refused", async () => {
  expect(await connect("").end.promise).toMatchObject({ code: "INVALID_ARGUMENT" });
});
