import { expect, test } from "vitest";
import { advance, type AgentState, type Answer, type Effect, idle, type Input, resumedBy } from "./agent-state.ts";
import { agentWorkflow, execution } from "./testing/executions.ts";

const w = agentWorkflow("w", "one", "two");
const x = agentWorkflow("x", "other");
const one = execution(w);
const two = execution(w, 1);

/** All inputs, one after the other; what the last one asks for. */
function after(...inputs: readonly Input[]): { readonly state: AgentState; readonly effects: readonly Effect[] } {
  let [state, effects]: [AgentState, readonly Effect[]] = [idle, []];
  for (const input of inputs) ({ state, effects } = advance(state, input));
  return { state, effects };
}

const start = (workflow = w): Input => ({ is: "start", workflow });
const stop = (workflow = w): Input => ({ is: "stop", workflow: workflow.id, message: "by the server" });
const answer = (seq: number, said: Answer = "ok"): Input => ({ is: "answered", seq, answer: said });
const prepared: Input = { is: "prepared", execution: one, handle: "c1" };
const succeeded = (of = one): Input => ({ is: "ended", execution: of, ending: { is: "succeeded" } });
const failed: Input = {
  is: "ended",
  execution: one,
  ending: { is: "failed", reason: "NonZeroExit", message: "exit 1" },
};
const gone: Input = { is: "gone", execution: one };
const restarted: Input = { is: "restarted" };
const running = [start(), answer(1), prepared] as const;

const eventsOf = ({ outbox }: AgentState) => outbox.map(({ workflow, event }) => [workflow, event]);
const canceled = (action: string, message = "by the server") => ({ is: "failed", action, reason: "Canceled", message });

test("nothing is prepared before the server has agreed to the start", () => {
  const { state, effects } = after(start());
  expect(eventsOf(state)).toEqual([[w.id, { is: "started", action: "id-one" }]]);
  expect(effects).toEqual([]);
  expect(after(start(), answer(1)).effects).toEqual([{ do: "prepare", execution: one }]);
});

test("nothing is started before what was prepared is known", () => {
  expect(after(...running).effects).toEqual([{ do: "run", execution: one, handle: "c1" }]);
});

test("a refused start runs nothing and makes the agent free", () => {
  const { state, effects } = after(start(), answer(1, "refused"));
  expect(state.work).toBeUndefined();
  expect(effects).toEqual([]);
  expect(eventsOf(state)).toEqual([[w.id, canceled("id-one", "the server has refused its start")]]);
});

test("the next action is announced only when the result of the one before is acknowledged", () => {
  const ended = after(...running, succeeded());
  expect(eventsOf(ended.state)).toEqual([[w.id, { is: "succeeded", action: "id-one" }]]);
  expect(ended.effects).toEqual([{ do: "discard", execution: one }]);
  const next = after(...running, succeeded(), answer(2));
  expect(eventsOf(next.state)).toEqual([[w.id, { is: "started", action: "id-two" }]]);
  expect(next.effects).toEqual([]);
});

test("an agent is free once its last result waits, and tells it before anything of the next workflow", () => {
  const { state } = after(...running, failed, start(x));
  expect(eventsOf(state)).toEqual([
    [w.id, { is: "failed", action: "id-one", reason: "NonZeroExit", message: "exit 1" }],
    [x.id, { is: "started", action: "id-other" }],
  ]);
});

test("a result that the server refuses ends the workflow", () => {
  const { state } = after(...running, succeeded(), answer(2, "refused"));
  expect(state).toEqual({ outbox: [], nextSeq: 3 });
});

test("the same workflow again is answered by its last event", () => {
  const { state, effects } = after(...running, start());
  expect(eventsOf(state)).toEqual([[w.id, { is: "started", action: "id-one" }]]);
  expect(effects).toEqual([]);
  expect(after(...running, start(), answer(2)).effects).toEqual([]);
});

test.each([
  ["its start", [start()]],
  ["a result", [...running, succeeded()]],
  ["its end", [...running, failed]],
])("the same workflow again changes nothing while %s waits to be told", (_what, inputs) => {
  const { state } = after(...inputs);
  expect(advance(state, start())).toEqual({ state, effects: [] });
});

test("another workflow is refused once while one is at hand", () => {
  const { state } = after(...running, start(x), start(x));
  const message = `workflow ${w.id} is in progress`;
  expect(eventsOf(state)).toEqual([[x.id, { is: "rejected", reason: "WorkflowInProgress", message }]]);
  expect(advance(state, answer(2)).state).toEqual(after(...running, start(x), answer(2)).state);
});

test("a workflow without actions is refused", () => {
  expect(eventsOf(after(start(agentWorkflow("empty"))).state)[0]?.[1]).toMatchObject({ is: "rejected" });
});

test.each([
  ["before its start is acknowledged", [start()], "id-one"],
  ["between two actions", [...running, succeeded()], "id-two"],
  ["when it was interrupted", [...running, gone], "id-one"],
])("a stop %s confirms with the next action", (_when, inputs, action) => {
  const { state, effects } = after(...inputs, stop());
  expect(eventsOf(state).at(-1)).toEqual([w.id, canceled(action)]);
  expect(eventsOf(state).filter(([, event]) => typeof event === "object" && event.is === "started")).toEqual([]);
  expect(state.work).toBeUndefined();
  expect(effects).toEqual([]);
});

test.each([
  ["while it is prepared", [start(), answer(1)]],
  ["while it runs", running],
  ["when a repeated start of what runs is refused", [...running, start(), answer(2, "refused")]],
])("an action is ended %s", (_when, inputs) => {
  const { effects, state } = after(...inputs, ...(inputs.length > 3 ? [] : [stop()]));
  expect(effects).toEqual([{ do: "stop", execution: one }]);
  expect(advance(state, stop())).toEqual({ state, effects: [] });
});

test.each<readonly [string, Input]>([
  ["well", succeeded()],
  ["badly", failed],
  ["by our doing", { is: "stopped", execution: one }],
])("an action that was told to stop and ends %s was canceled", (_how, end) => {
  const { state, effects } = after(...running, stop(), end);
  expect(eventsOf(state)).toEqual([[w.id, canceled("id-one")]]);
  expect(effects).toEqual([{ do: "discard", execution: one }]);
});

test("a stop of a workflow that is not at hand changes nothing", () => {
  const { state } = after(...running);
  expect(advance(state, stop(x))).toEqual({ state, effects: [] });
});

test("an action is not started when it was told to stop while it was prepared", () => {
  expect(after(start(), answer(1), stop(), prepared).effects).toEqual([]);
});

test("what comes of an execution that is not at hand any more is thrown away", () => {
  expect(after(prepared).effects).toEqual([{ do: "discard", execution: one }]);
  const { state } = after(...running, succeeded(), answer(2));
  expect(advance(state, succeeded())).toEqual({ state, effects: [] });
  expect(advance(state, { is: "stopped", execution: two })).toEqual({ state, effects: [] });
});

test.each<readonly [string, readonly Input[], readonly Effect[]]>([
  ["is free", [], []],
  ["waits for the answer to a start", [start()], []],
  ["prepares", [start(), answer(1)], [{ do: "prepare", execution: one }]],
  ["has an action that runs", running, [{ do: "recover", execution: one, handle: "c1" }]],
  ["ends an action", [...running, stop()], [{ do: "stop", execution: one }]],
  ["waits for the answer to a result", [...running, succeeded()], []],
  ["was interrupted", [...running, gone], []],
])("an agent that begins anew and %s knows what it owes", (_what, inputs, owed) => {
  const { state } = after(...inputs);
  const sweep = { do: "sweep", keep: owed.length === 0 ? undefined : one };
  expect(advance(state, restarted)).toEqual({ state, effects: [sweep, ...owed] });
});

test("an action that is gone is interrupted, and runs again as a further attempt when the server says so", () => {
  const { state } = after(...running, gone);
  expect(resumedBy(state)).toEqual([{ workflow: w.id, action: "id-one", state: "interrupted" }]);
  const again = advance(state, start());
  expect(again.state.work).toMatchObject({ index: 0, attempt: 2, phase: { is: "announced" } });
  const rest = advance(state, start({ ...w, actions: w.actions.slice(1) }));
  expect(rest.state.work).toMatchObject({ index: 0, attempt: 1 });
});

test("an interrupted workflow is dropped for another one: the server has given it up", () => {
  expect(after(...running, gone, start(x)).state.work).toMatchObject({ workflow: x });
});

test("a workflow whose end was not acknowledged is resumed, too", () => {
  const { state } = after(...running, failed, start(x));
  expect(resumedBy(state)).toEqual([
    { workflow: w.id, action: "id-one", state: "running" },
    { workflow: x.id, action: "id-other", state: "running" },
  ]);
  expect(resumedBy(after(...running, start(x)).state)).toHaveLength(1);
});
