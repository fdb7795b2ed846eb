import { afterAll, beforeAll, expect, test } from "vitest";
import { cancel, fail } from "#dialects/tinkerbell/transitions.ts";
import { action, begin, settings } from "#dialects/tinkerbell/testing/states.ts";
import { Place } from "#dialects/tinkerbell/server/testing/place.ts";
import { type PlaceUnderTest, startPlaceUnderTest } from "./place-under-test.ts";
import { PythonClient } from "./python-client.ts";
import { connect, countOf, tell, type Told } from "./stream-agent.ts";

// The command stream and every row on late, double and unordered events, driven by a client that shares no code with the server.

let started: PlaceUnderTest;
let place: Place;
let client: PythonClient;
beforeAll(async () => {
  started = await startPlaceUnderTest();
  place = started.place;
  client = await PythonClient.start(place.port);
});
afterAll(async () => {
  await client?.close();
  await started?.close();
});

/** How the workflow is changed by somebody else before the event that a row is about. */
const changes = {
  none: async () => undefined,
  cancelling: async (name: string) => await place.write(name, (state) => ({ ...state, phase: "Cancelling" })),
  canceled: async (name: string) => await place.write(name, (state) => cancel(state, "canceled by User").state),
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
  /** The event that people are told of it. */
  readonly reason?: string;
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
    event: ["started", "id-two"],
    code: "FAILED_PRECONDITION",
    reason: "OutOfOrderEvent",
    state: running,
  },
  {
    row: "a success beyond the next action",
    before: [["started"]],
    event: ["succeeded", "id-two"],
    code: "FAILED_PRECONDITION",
    reason: "OutOfOrderEvent",
    state: running,
  },
  {
    row: "a failure after a success",
    before: [["succeeded"]],
    event: ["failed"],
    code: "OK",
    reason: "ContradictoryEvent",
    state: running,
  },
  {
    row: "a success after a failure",
    before: [["failed"]],
    event: ["succeeded"],
    code: "OK",
    reason: "ContradictoryEvent",
    state: { phase: "Failed", reason: "DiskMissing" },
  },
  {
    row: "a start while cancelling",
    before: [["succeeded"]],
    change: "cancelling",
    event: ["started", "id-two"],
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
    before: [["succeeded"], ["started", "id-two"]],
    change: "cancelling",
    event: ["succeeded", "id-two"],
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
    reason: "LateEvent",
    state: { phase: "Failed", dispatch: { held: false } },
    stops: 1,
  },
  {
    row: "a failure after the end",
    before: [["started"]],
    change: "timed out",
    event: ["failed"],
    code: "OK",
    reason: "LateEvent",
    state: { phase: "Failed", dispatch: { held: false } },
    stops: 1,
  },
  {
    row: "a rejection of what was dispatched",
    before: [],
    event: ["rejected"],
    code: "OK",
    reason: "Rejected",
    state: { phase: "Pending", dispatch: { rejections: 1, held: false } },
  },
  {
    row: "a rejection of what is pending",
    before: [["rejected"]],
    event: ["rejected"],
    code: "OK",
    reason: "LateEvent",
    state: { phase: "Pending", dispatch: { rejections: 1 } },
  },
  {
    row: "a failure beyond the next action",
    before: [["started"]],
    event: ["failed", "id-two"],
    code: "FAILED_PRECONDITION",
    reason: "OutOfOrderEvent",
    state: running,
  },
  {
    row: "a failure of what has failed",
    before: [["failed"]],
    event: ["failed"],
    code: "OK",
    state: { phase: "Failed", reason: "DiskMissing", dispatch: { held: false } },
  },
  {
    row: "a result of what was cancelled",
    before: [["started"]],
    change: "canceled",
    event: ["succeeded"],
    code: "OK",
    reason: "LateEvent",
    state: { phase: "Canceled" },
  },
  {
    row: "a rejection of what runs",
    before: [["started"]],
    event: ["rejected"],
    code: "OK",
    reason: "LateEvent",
    state: running,
  },
  {
    row: "a rejection while cancelling",
    before: [["started"]],
    change: "cancelling",
    event: ["rejected"],
    code: "OK",
    reason: "LateEvent",
    state: { phase: "Cancelling" },
    stops: 1,
  },
  {
    row: "a rejection after the end",
    before: [["started"]],
    change: "timed out",
    event: ["rejected"],
    code: "OK",
    reason: "LateEvent",
    state: { phase: "Failed", dispatch: { held: true } },
    stops: 1,
  },
  {
    row: "an action that is not known",
    before: [],
    event: ["started", "id-three"],
    code: "NOT_FOUND",
    state: { phase: "Scheduled" },
  },
];

test.each(rows.map((row, at) => [row.row, `wf-${at}`, row] as const))("%s", async (_row, name, row) => {
  const agentID = `agent-of-${name}`;
  const stream = connect(client, agentID);
  const id = await place.create(name, { agentID });
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  for (const told of row.before) expect(await tell(client, id, told)).toBe("OK");
  await changes[row.change ?? "none"](name);
  if (row.change === "cancelling" || row.change === "timed out")
    await expect.poll(() => countOf(stream, "stop_workflow")).toBe(1);
  expect(await tell(client, id, row.event)).toBe(row.code);
  expect(await place.state(name)).toMatchObject(row.state);
  if (row.reason !== undefined) await expect.poll(() => place.reasonsOf(name)).toContain(row.reason);
  await expect.poll(() => countOf(stream, "stop_workflow")).toBe(row.stops ?? 0);
});

test("a workflow that is recreated under its name does not take events of the one before", async () => {
  const agentID = "agent-of-recreated";
  const stream = connect(client, agentID);
  const id = await place.create("recreated", { agentID });
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(1);
  await place.remove("recreated");
  expect(await tell(client, id, ["started"])).toBe("NOT_FOUND");
  const anew = await place.create("recreated", { agentID });
  expect(await tell(client, id, ["started"])).toBe("NOT_FOUND");
  await expect.poll(() => countOf(stream, "start_workflow")).toBe(2);
  expect(await tell(client, anew, ["started"])).toBe("OK");
});

test("a second stream ends the first with ABORTED", async () => {
  const first = connect(client, "agent-twice");
  await expect.poll(() => place.agentStatus("agent-twice").catch(() => undefined)).toMatchObject({ connected: true });
  connect(client, "agent-twice");
  expect(await first.end.promise).toMatchObject({ code: "ABORTED", message: "superseded by a newer connection" });
});

test("an agent that answers nothing any more is noticed by the server's pings", async () => {
  const own = await Place.start({ keepalive: { time: 300, timeout: 300 } });
  const frozen = await PythonClient.start(own.port);
  try {
    let stream = connect(frozen, "agent-frozen");
    // On a busy machine it may be late with an answer as soon as it has connected, or before; then it comes again.
    const comes = async () => {
      const ended = await Promise.race([stream.end.promise, Promise.resolve(undefined)]);
      if (ended !== undefined) stream = connect(frozen, "agent-frozen");
      return await own.agentStatus("agent-frozen").catch(() => undefined);
    };
    await expect.poll(comes).toMatchObject({ connected: true });
    frozen.freeze();
    await expect.poll(() => own.agentStatus("agent-frozen")).toMatchObject({ connected: false });
  } finally {
    await frozen.close();
    await own.close();
  }
});

test("an agent without an id is refused", async () => {
  expect(await connect(client, "").end.promise).toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a start that answers the dispatch of what was interrupted is one more attempt, whose time begins anew", async () => {
  const agentID = "agent-again";
  const actions = [action("one", { timeout: 60_000 }, agentID)];
  const first = connect(client, agentID);
  const id = await place.create("again", { agentID, actions });
  await expect.poll(() => countOf(first, "start_workflow")).toBe(1);
  expect(await tell(client, id, ["started"])).toBe("OK");
  const { deadlines } = await place.state("again");
  await place.clock.advance(1000);
  const second = connect(client, agentID);
  await expect.poll(() => countOf(second, "start_workflow")).toBe(1);
  expect(await tell(client, id, ["started"])).toBe("OK");
  const after = await place.state("again");
  expect(after).toMatchObject({ phase: "Running", actions: [{ phase: "Running", attempts: 2 }] });
  expect(after.deadlines.action).toBe((deadlines.action ?? 0) + 1000);
});
