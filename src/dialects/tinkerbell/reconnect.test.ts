import { expect, test } from "vitest";
import { judgeEvent } from "./events.ts";
import { type Resumed, resume } from "./reconnect.ts";
import type { Phase, WorkflowState } from "./state.ts";
import { begin, pending, settings } from "./testing/states.ts";
import { beginCancel, dispatch } from "./transitions.ts";

const taker = { agentID: "agent-a", protocol: "stream" } as const;
const context = { now: begin, settings, protocol: "stream", hasPostSteps: false, seed: "uid" } as const;
const scheduled = dispatch(pending(), taker, begin, settings).state;
const running: WorkflowState = judgeEvent(scheduled, { is: "started", action: "id-one" }, context).state ?? scheduled;
const cancelling = beginCancel(running, "Delete", begin, settings).state;
const back = (state: WorkflowState, said: Resumed) =>
  resume(state, said, { ...taker, instance: "new" }, begin, settings);

test.each([
  ["Scheduled", scheduled],
  ["Running", running],
])("an agent that goes on with a workflow that is %s is left alone", (_phase, state) => {
  expect(back(state, "running")).toEqual({});
});

test.each<readonly [Phase, WorkflowState]>([
  ["Cancelling", cancelling],
  ["Failed", { ...running, phase: "Failed" }],
  ["Canceled", { ...running, phase: "Canceled" }],
])("an agent that goes on with a workflow that is %s is told to stop", (_phase, state) => {
  expect(back(state, "running")).toEqual({ send: "stop" });
});

test("a workflow that was lost on its way is told again", () => {
  const { move, send } = back(scheduled, "none");
  expect(send).toBe("start");
  expect(move?.state).toMatchObject({ phase: "Scheduled", dispatch: { attempt: 2, instance: "new", held: true } });
});

test("an agent that does not go on has confirmed the stop", () => {
  const { move, send } = back(cancelling, "none");
  expect(send).toBeUndefined();
  expect(move?.state).toMatchObject({ phase: "Canceled", message: "canceled by Delete", dispatch: { held: false } });
  expect(move?.state.actions[0]).toMatchObject({ phase: "Failed", reason: "Canceled" });
});

test("an agent that begins anew is free of what has ended", () => {
  const ended: WorkflowState = { ...running, phase: "Failed", deadlines: { held: begin + 1 } };
  expect(back(ended, "none").move?.state).toMatchObject({ dispatch: { held: false }, deadlines: {} });
});

test.each<Resumed>(["interrupted", "none"])("an interrupted action runs again, as one more attempt (%s)", (said) => {
  const { move, send } = back(running, said);
  expect(send).toBe("start");
  const state = move?.state ?? running;
  expect(state).toMatchObject({ phase: "Running", dispatch: { rerun: "id-one", held: true } });
  expect(state.actions[0]?.attempts).toBe(1);
  const again = judgeEvent(state, { is: "started", action: "id-one" }, context);
  expect(again.state?.actions[0]).toMatchObject({ phase: "Running", attempts: 2 });
  expect(again.state?.dispatch.rerun).toBeUndefined();
  expect(again.notices.map(({ reason }) => reason)).toEqual(["ActionRestarted"]);
  expect(judgeEvent(again.state ?? state, { is: "started", action: "id-one" }, context).state).toBeUndefined();
});

test("an action that is interrupted too often has failed", () => {
  const [first, ...rest] = running.actions;
  const state: WorkflowState = {
    ...running,
    actions: first === undefined ? rest : [{ ...first, attempts: 3 }, ...rest],
  };
  const { move, send } = back(state, "interrupted");
  expect(send).toBeUndefined();
  expect(move?.state).toMatchObject({
    phase: "Failed",
    reason: "ActionInterrupted",
    message: 'action "one" was interrupted 3 times (agent restarted)',
    dispatch: { held: false },
  });
});

test("where it is asked for, an interruption is a failure at once", () => {
  const { move } = resume(running, "interrupted", taker, begin, { ...settings, interruptedActions: "Fail" });
  expect(move?.state).toMatchObject({ phase: "Failed", reason: "ActionInterrupted" });
});

test("between two actions nothing was interrupted: the rest is told again", () => {
  const ended = judgeEvent(running, { is: "succeeded", action: "id-one" }, context).state ?? running;
  const { move, send } = back(ended, "none");
  expect(send).toBe("start");
  expect(move?.state).toMatchObject({ phase: "Running", dispatch: { attempt: 2 } });
  expect(move?.state.dispatch.rerun).toBeUndefined();
});
