import { expect, test } from "vitest";
import { type AgentEvent, type EventContext, judgeEvent, type Verdict } from "./events.ts";
import type { Phase, WorkflowState } from "./state.ts";
import { supervise } from "./reconcile/supervise.ts";
import { action, begin, pending, settings } from "./testing/states.ts";
import { beginCancel, dispatch, fail } from "./transitions.ts";

const context: EventContext = { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "uid" };
const taker = { agentID: "agent-a", protocol: "stream" } as const;
const started = (name: string): AgentEvent => ({ is: "started", action: `id-${name}` });
const succeeded = (name: string): AgentEvent => ({ is: "succeeded", action: `id-${name}` });
const failed = (name: string): AgentEvent => ({
  is: "failed",
  action: `id-${name}`,
  reason: "DiskMissing",
  message: "no /dev/sda",
});
const rejected: AgentEvent = { is: "rejected", message: "busy" };

const scheduled = (state = pending()): WorkflowState => dispatch(state, taker, begin, settings).state;

/** The state after these events, every one of which has to be taken. */
function after(state: WorkflowState, ...events: readonly AgentEvent[]): WorkflowState {
  return events.reduce((now, event) => {
    const verdict = judgeEvent(now, event, context);
    expect(verdict.code).toBe("OK");
    return verdict.state ?? now;
  }, state);
}

const phasesOf = ({ actions }: WorkflowState) => actions.map(({ phase }) => phase);
const reasonsOf = ({ notices }: Verdict) => notices.map(({ reason }) => reason);
const cancelling = (state: WorkflowState) => beginCancel(state, "Delete", begin, settings).state;

test("a workflow runs to its end by what its agent tells", () => {
  const first = after(scheduled(), started("one"));
  expect(first).toMatchObject({ phase: "Running", startedAt: begin, dispatch: { held: true, rejections: 0 } });
  expect(first.deadlines).toEqual({});
  const last = after(first, succeeded("one"), started("two"));
  expect(phasesOf(last)).toEqual(["Succeeded", "Running"]);
  expect(after(last, succeeded("two"))).toMatchObject({ phase: "Succeeded", dispatch: { held: false }, deadlines: {} });
});

test("an agent that tells that the time of an action was over is told of in the same words as when this side notices it", () => {
  const state = after(scheduled(pending({ actions: [action("one", { timeout: 5000 })] })), started("one"));
  const late: AgentEvent = { is: "failed", action: "id-one", reason: "ActionTimeout", message: "reported" };
  const { state: ended, notices } = judgeEvent(state, late, context);
  const message = 'action "one" exceeded its timeout of 5s';
  expect(ended).toMatchObject({ reason: "ActionTimeout", message, actions: [{ message: "reported" }] });
  expect(notices).toMatchObject([{ message }, { message }]);
  // Without a timeout of its own there is only what the agent says.
  const other = judgeEvent(after(scheduled(), started("one")), late, context).state;
  expect(other?.message).toBe('action "one" failed: reported');
});

test("a start sets the deadlines of the workflow, once, and of the action", () => {
  const state = scheduled(pending({ timeout: 60_000, actions: [action("one", { timeout: 5000 }), action("two")] }));
  const first = after(state, started("one"));
  expect(first.deadlines).toEqual({ workflow: begin + 60_000, action: begin + 5000 });
  const later = { ...context, now: begin + 1000 };
  const ended = judgeEvent(first, succeeded("one"), later).state ?? first;
  expect(ended.deadlines).toEqual({ workflow: begin + 60_000 });
  expect(judgeEvent(ended, started("two"), later).state?.deadlines).toEqual({ workflow: begin + 60_000 });
});

test("a failed action ends the workflow with its words, and later actions stay pending", () => {
  const state = after(scheduled(), started("one"), failed("one"));
  expect(state).toMatchObject({
    phase: "Failed",
    reason: "DiskMissing",
    message: 'action "one" failed: no /dev/sda',
    dispatch: { held: false },
  });
  expect(phasesOf(state)).toEqual(["Failed", "Pending"]);
});

test("a rejected workflow is pending again, later and later", () => {
  const first = after(scheduled(), rejected);
  expect(first).toMatchObject({
    phase: "Pending",
    dispatch: { held: false, rejections: 1, lastRejection: { message: "busy" } },
  });
  expect(first.deadlines).toEqual({});
  const second = after(scheduled(first), rejected);
  const delays = [first, second].map(({ dispatch: { notBefore = 0 } }) => notBefore - begin);
  expect(delays[0]).toBeGreaterThanOrEqual(4000);
  expect(delays[0]).toBeLessThanOrEqual(6000);
  expect(delays[1]).toBeGreaterThanOrEqual(8000);
  expect(delays[1]).toBeLessThanOrEqual(12_000);
  expect(after(scheduled(second), started("one")).dispatch.rejections).toBe(0);
});

test("a start that overtook its rejection counts", () => {
  const state = after(scheduled(), rejected, started("one"));
  expect(state).toMatchObject({ phase: "Running", dispatch: { held: true, rejections: 0 } });
});

test.each<readonly [string, AgentEvent]>([
  ["its first action", started("one")],
  ["its end", succeeded("one")],
])("who was never told of a workflow cannot tell of %s", (_what, event) => {
  expect(judgeEvent(pending(), event, context)).toMatchObject({ code: "FAILED_PRECONDITION", notices: [] });
});

test.each<readonly [string, readonly AgentEvent[], AgentEvent]>([
  ["start", [started("one")], started("one")],
  ["success", [started("one"), succeeded("one")], succeeded("one")],
  ["last success", [started("one"), succeeded("one"), started("two"), succeeded("two")], succeeded("two")],
  ["failure", [started("one"), failed("one")], failed("one")],
  ["start of what has ended", [started("one"), succeeded("one")], started("one")],
])("a %s that comes twice changes nothing", (_what, before, event) => {
  const verdict = judgeEvent(after(scheduled(), ...before), event, context);
  expect(verdict.code === "OK" || verdict.stop).toBe(true);
  expect(verdict.state).toBeUndefined();
});

test("a success whose start was lost is a start, too", () => {
  const state = after(scheduled(), succeeded("one"));
  expect(state).toMatchObject({ phase: "Running", startedAt: begin });
  expect(state.actions[0]).toMatchObject({ phase: "Succeeded", attempts: 1 });
});

test.each<readonly [string, AgentEvent]>([
  ["start", started("two")],
  ["success", succeeded("two")],
  ["failure", failed("two")],
])("the %s of an action that is not the next one is refused", (_what, event) => {
  const verdict = judgeEvent(after(scheduled(), started("one")), event, context);
  expect(verdict).toMatchObject({ code: "FAILED_PRECONDITION" });
  expect(verdict.state).toBeUndefined();
  expect(reasonsOf(verdict)).toEqual(["OutOfOrderEvent"]);
});

test.each<readonly [string, readonly AgentEvent[], AgentEvent]>([
  ["a failure after a success", [started("one"), succeeded("one")], failed("one")],
  ["a success after a failure", [started("one"), failed("one")], succeeded("one")],
  [
    "a failure after the last success",
    [started("one"), succeeded("one"), started("two"), succeeded("two")],
    failed("two"),
  ],
])("%s is told, and the first result stands", (_what, before, event) => {
  const verdict = judgeEvent(after(scheduled(), ...before), event, context);
  expect(verdict.code).toBe("OK");
  expect(verdict.state).toBeUndefined();
  expect(reasonsOf(verdict)).toEqual(["ContradictoryEvent"]);
});

test("the last success told twice is no late event", () => {
  const ended = after(scheduled(), started("one"), succeeded("one"), started("two"), succeeded("two"));
  expect(judgeEvent(ended, succeeded("two"), context)).toEqual({ code: "OK", notices: [] });
});

test("a success that was recorded does not let an agent go that is at work on the next action", () => {
  const running = after(scheduled(), started("one"), succeeded("one"), started("two"));
  const ended = fail(running, { reason: "WorkflowTimeout", message: "late", isFree: false }, begin, settings).state;
  expect(judgeEvent(ended, succeeded("one"), context)).toEqual({ code: "OK", notices: [] });
});

test("an unknown action is not found", () => {
  expect(judgeEvent(scheduled(), started("three"), context)).toMatchObject({ code: "NOT_FOUND" });
});

test.each<Phase>(["Cancelling", "Canceled", "Succeeded", "Failed"])(
  "a start while the workflow is %s is refused, and the agent is told to stop",
  (phase) => {
    const verdict = judgeEvent({ ...after(scheduled(), started("one")), phase }, started("two"), context);
    expect(verdict).toMatchObject({ code: "FAILED_PRECONDITION", stop: true });
  },
);

test("while it is cancelled a success is recorded, and the stop is still to be confirmed", () => {
  const state = cancelling(after(scheduled(), started("one")));
  const recorded = after(state, succeeded("one"));
  expect(recorded).toMatchObject({ phase: "Cancelling", dispatch: { held: true } });
  expect(phasesOf(recorded)).toEqual(["Succeeded", "Pending"]);
  const byPoll = judgeEvent(state, succeeded("one"), { ...context, protocol: "poll" });
  expect(byPoll.state).toMatchObject({ phase: "Canceled", message: "canceled by Delete", dispatch: { held: false } });
});

test("while it is cancelled the last success ends it as canceled", () => {
  const state = cancelling(after(scheduled(), started("one"), succeeded("one"), started("two")));
  expect(after(state, succeeded("two"))).toMatchObject({
    phase: "Canceled",
    message: "all actions had already finished",
  });
});

test("while it is cancelled a failure confirms the stop", () => {
  const state = after(cancelling(after(scheduled(), started("one"))), failed("one"));
  expect(state).toMatchObject({ phase: "Canceled", reason: "Canceled", dispatch: { held: false }, deadlines: {} });
  expect(phasesOf(state)).toEqual(["Failed", "Pending"]);
});

test("a result after the end frees the agent and changes no action", () => {
  const running = after(scheduled(), started("one"));
  const ended = fail(running, { reason: "WorkflowTimeout", message: "late", isFree: false }, begin, settings).state;
  expect(ended).toMatchObject({ dispatch: { held: true }, deadlines: { held: begin + settings.cancellingTimeout } });
  const verdict = judgeEvent(ended, succeeded("one"), context);
  expect(verdict.state).toMatchObject({ phase: "Failed", dispatch: { held: false }, deadlines: {} });
  expect(phasesOf(verdict.state ?? ended)).toEqual(["Running", "Pending"]);
  expect(reasonsOf(verdict)).toEqual(["LateEvent"]);
});

test("an agent that says it has stopped what has taken too long is free, and nobody is told", () => {
  const state = scheduled(pending({ actions: [action("one", { timeout: 1000 }), action("two")] }));
  const ended = supervise(after(state, started("one")), { isDeleted: false }, begin + 1000, settings)?.state ?? state;
  expect(ended).toMatchObject({ phase: "Failed", reason: "ActionTimeout", dispatch: { held: true } });
  const tell = (reason: string, of = ended) =>
    judgeEvent(of, { is: "failed", action: "id-one", reason, message: "stopped" }, context);
  const confirmed = tell("Canceled");
  expect(confirmed).toMatchObject({ code: "OK", state: { phase: "Failed", dispatch: { held: false }, deadlines: {} } });
  expect(confirmed.state?.actions).toEqual(ended.actions);
  expect(reasonsOf(confirmed)).toEqual([]);
  // It had ended by itself, or nobody waits for it any more.
  expect(reasonsOf(tell("NonZeroExit"))).toEqual(["LateEvent"]);
  expect(reasonsOf(tell("Canceled", confirmed.state))).toEqual(["LateEvent"]);
});

test.each<Phase>(["Pending", "Running", "Cancelling", "Succeeded"])(
  "a rejection while it is %s is only told",
  (phase) => {
    const state = { ...after(scheduled(), started("one")), phase };
    const verdict = judgeEvent(state, rejected, context);
    expect(verdict.code).toBe("OK");
    expect(verdict.state).toBeUndefined();
    expect(reasonsOf(verdict)).toEqual(["LateEvent"]);
  },
);

test("the part of another agent waits for that agent, within the same workflow", () => {
  const actions = [action("one"), action("two", {}, "agent-b")];
  const first = after(scheduled(pending({ actions, timeout: 60_000 })), started("one"), succeeded("one"));
  expect(first).toMatchObject({ phase: "Running", agentID: "agent-b", dispatch: { held: false } });
  expect(first.dispatch.agentID).toBeUndefined();
  const told = dispatch(first, { agentID: "agent-b", protocol: "stream" }, begin, settings).state;
  expect(told).toMatchObject({ phase: "Running", dispatch: { held: true, attempt: 2 } });
  expect(told.deadlines).toEqual({ workflow: begin + 60_000, scheduled: begin + settings.scheduledTimeout });
  const refused = after(told, rejected);
  expect(refused).toMatchObject({ phase: "Running", dispatch: { held: false, rejections: 1 } });
  expect(after(told, started("two"), succeeded("two")).phase).toBe("Succeeded");
});

test("with something to be done after it, the last action ends in Post", () => {
  const state = after(scheduled(pending({ actions: [action("one")] })), started("one"));
  expect(judgeEvent(state, succeeded("one"), { ...context, hasPostSteps: true }).state?.phase).toBe("Post");
});
