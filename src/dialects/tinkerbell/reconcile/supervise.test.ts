import { expect, test } from "vitest";
import { judgeEvent } from "../events.ts";
import { lose, regain } from "../reconnect.ts";
import type { WorkflowState } from "../state.ts";
import { nextDeadline, supervise } from "./supervise.ts";
import { action, begin, pending, settings } from "../testing/states.ts";
import { beginCancel, dispatch, fail } from "../transitions.ts";

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const nothing = { isDeleted: false };
const scheduled = (state = pending()): WorkflowState => dispatch(state, taker, begin, settings).state;
const running = (state = pending()): WorkflowState =>
  judgeEvent(
    scheduled(state),
    { is: "started", action: "id-one" },
    { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "uid" },
  ).state ?? state;

test("an agent that does not begin in time has failed it, and stays held", () => {
  const state = scheduled();
  expect(nextDeadline(state)).toBe(begin + settings.scheduledTimeout);
  expect(supervise(state, nothing, begin + settings.scheduledTimeout - 1, settings)).toBeUndefined();
  const now = begin + settings.scheduledTimeout;
  const failed = supervise(state, nothing, now, settings)?.state;
  expect(failed).toMatchObject({
    phase: "Failed",
    reason: "ScheduledTimeout",
    message: "agent agent-a did not start the workflow within 2m of dispatch",
    dispatch: { held: true },
    deadlines: { held: now + settings.cancellingTimeout },
  });
  const free = supervise(failed ?? state, nothing, now + settings.cancellingTimeout, settings)?.state;
  expect(free).toMatchObject({ phase: "Failed", dispatch: { held: false }, deadlines: {} });
  expect(nextDeadline(free ?? state)).toBeUndefined();
});

test("an action that takes too long has failed, and the workflow with it", () => {
  const state = running(pending({ actions: [action("one", { timeout: 2000 }), action("two")] }));
  const move = supervise(state, nothing, begin + 2000, settings);
  const failed = move?.state;
  const message = 'action "one" exceeded its timeout of 2s';
  expect(failed).toMatchObject({ phase: "Failed", reason: "ActionTimeout", message });
  expect(move?.notices).toMatchObject([
    { reason: "ActionFailed", message },
    { reason: "Failed", message },
  ]);
  expect(failed?.actions.map(({ phase, reason }) => [phase, reason])).toEqual([
    ["Failed", "ActionTimeout"],
    ["Pending", undefined],
  ]);
});

test("an agent that does not come back in time has failed what it was at, and stays held", () => {
  const limited = { ...settings, agentLostTimeout: 300_000 };
  for (const state of [scheduled(pending()), running()]) {
    const lost = lose({ ...state, deadlines: {} }, begin, limited) ?? state;
    expect(nextDeadline(lost)).toBe(begin + 300_000);
    expect(supervise(lost, nothing, begin + 299_999, limited)).toBeUndefined();
    const failed = supervise(lost, nothing, begin + 300_000, limited)?.state;
    expect(failed).toMatchObject({
      phase: "Failed",
      reason: "AgentLost",
      message: "agent agent-a has been unreachable for 5m",
      dispatch: { held: true },
      deadlines: { held: begin + 300_000 + settings.cancellingTimeout },
    });
    // When it is back in time, nothing has happened.
    expect(regain(lost)?.deadlines).toEqual({});
  }
});

test.each([
  ["a start", { is: "started", action: "id-one" }],
  ["a result", { is: "succeeded", action: "id-one" }],
  ["a rejection", { is: "rejected", message: "busy" }],
] as const)("%s is heard from an agent, which is not away then", (_name, event) => {
  const lost = lose(scheduled(), begin, { ...settings, agentLostTimeout: 300_000 }) ?? pending();
  const context = { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
  expect(lost.deadlines.agent).toBe(begin + 300_000);
  expect(judgeEvent(lost, event, context).state?.deadlines.agent).toBeUndefined();
});

test.each([
  ["nobody holds", pending()],
  ["is Cancelling", beginCancel(running(), "User", begin, settings).state],
  ["has ended", fail(running(), { reason: "R", message: "m", isFree: false }, begin, settings).state],
  [
    "an agent has that asks for each action",
    { ...running(), dispatch: { ...running().dispatch, protocol: "poll" as const } },
  ],
])("no agent has to be back for a workflow that %s", (_name, state) => {
  expect(lose(state, begin, { ...settings, agentLostTimeout: 300_000 })).toBeUndefined();
});

test("of two times that have passed the earlier one counts", () => {
  const state = running(pending({ timeout: 1500, actions: [action("one", { timeout: 2000 })] }));
  const late = supervise(state, nothing, begin + 3_600_000, settings)?.state;
  expect(late).toMatchObject({
    reason: "WorkflowTimeout",
    message: 'workflow exceeded its timeout of 1s500ms while action "one" was running',
  });
});

test.each([
  ["deleted", { isDeleted: true }, "Delete"],
  ["canceled by a command", { isDeleted: false, cancelBy: "CLI" }, "CLI"],
] as const)("%s before anybody was told it is canceled at once", (_how, asked, by) => {
  expect(supervise(pending(), asked, begin, settings)?.state).toMatchObject({
    phase: "Canceled",
    message: `canceled by ${by}`,
  });
});

test.each([
  ["scheduled", scheduled()],
  ["running", running()],
])("deleted while %s it is cancelled by its agent, or by the time", (_phase, state) => {
  const cancelling = supervise(state, { isDeleted: true }, begin, settings)?.state;
  const deadline = begin + settings.cancellingTimeout;
  expect(cancelling).toMatchObject({ phase: "Cancelling", cancel: { by: "Delete", deadline } });
  expect(nextDeadline(cancelling ?? state)).toBe(deadline);
  expect(supervise(cancelling ?? state, { isDeleted: true }, deadline - 1, settings)).toBeUndefined();
  expect(supervise(cancelling ?? state, { isDeleted: true }, deadline, settings)?.state).toMatchObject({
    phase: "Canceled",
    reason: "CancelTimeout",
    message: "agent agent-a did not confirm cancellation within 1m; the action may still be running",
    dispatch: { held: false },
  });
});

test("a person may write Cancelling into the state", () => {
  const held: WorkflowState = { ...running(), phase: "Cancelling" };
  expect(supervise(held, nothing, begin, settings)?.state).toMatchObject({
    phase: "Cancelling",
    cancel: { by: "User" },
  });
  const free: WorkflowState = { ...pending(), phase: "Cancelling" };
  expect(supervise(free, nothing, begin, settings)?.state).toMatchObject({ phase: "Canceled" });
});

test.each([{ isDeleted: true }, { isDeleted: false, cancelBy: "CLI" as const }])(
  "what is not prepared is canceled at once, however it is asked: %j",
  (asked) => {
    const state = pending({ phase: "", actions: [], agentID: "" });
    expect(supervise(state, nothing, begin, settings)).toBeUndefined();
    expect(supervise(state, asked, begin, settings)?.state).toMatchObject({ phase: "Canceled", reason: "Canceled" });
  },
);

test.each(["Post", "Succeeded", "Failed", "Canceled"] as const)(
  "deleted while %j nothing is left to cancel",
  (phase) => {
    expect(supervise({ ...pending(), phase }, { isDeleted: true }, begin, settings)).toBeUndefined();
  },
);

test("between two agents it is canceled at once", () => {
  const actions = [action("one", { phase: "Succeeded" }), action("two", {}, "agent-b")];
  const state = pending({ phase: "Running", agentID: "agent-b", actions });
  expect(supervise(state, { isDeleted: true }, begin, settings)?.state.phase).toBe("Canceled");
});

test("a clock that was set back makes nothing due", () => {
  const state = beginCancel(running(), "User", begin, settings).state;
  expect(supervise(state, nothing, begin - 3_600_000, settings)).toBeUndefined();
  const ended = fail(running(), { reason: "X", message: "x", isFree: false }, begin, settings).state;
  expect(supervise(ended, nothing, begin - 3_600_000, settings)).toBeUndefined();
});
