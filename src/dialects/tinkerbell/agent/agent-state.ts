import type { AgentEvent } from "../events.ts";
import { told } from "./messages.ts";
import {
  type AgentAction,
  type AgentWorkflow,
  type Ending,
  type Execution,
  isSameExecution,
  type Undelivered,
} from "./work.ts";

// The agent as a pure state machine. A new state is durable before its effects begin, so a crash leaves either the
// earlier state (commands come again, and an action's end can be observed again) or the later one, whose effects
// `restarted` repeats.

export type Phase =
  /** Its start was reported and not acknowledged; nothing runs. */
  | { readonly is: "announced" }
  | { readonly is: "preparing" }
  | { readonly is: "running"; readonly handle: string }
  /** It is being stopped; `message` is reported then. */
  | { readonly is: "stopping"; readonly message: string }
  /** It succeeded and another one follows, but the server does not know yet. */
  | { readonly is: "finished" }
  /** It was started and its result is unknown; the server decides. */
  | { readonly is: "interrupted" };

export interface Work {
  readonly workflow: AgentWorkflow;
  readonly index: number;
  readonly attempt: number;
  readonly phase: Phase;
}

/** Everything an agent needs after a crash. Plain data. */
export interface AgentState {
  readonly work?: Work;
  /** In order of delivery. The last events of a workflow may remain when the next one has begun. */
  readonly outbox: readonly Undelivered[];
  readonly nextSeq: number;
}

export type Input =
  | { readonly is: "start"; readonly workflow: AgentWorkflow }
  | { readonly is: "stop"; readonly workflow: string; readonly message: string }
  | { readonly is: "answered"; readonly seq: number; readonly answer: Answer }
  | { readonly is: "prepared"; readonly execution: Execution; readonly handle: string }
  | { readonly is: "ended"; readonly execution: Execution; readonly ending: Ending }
  | { readonly is: "stopped"; readonly execution: Execution }
  | { readonly is: "gone"; readonly execution: Execution }
  | { readonly is: "restarted" };

/** `refused`: the event can never be recorded and the workflow must stop. */
export type Answer = "ok" | "refused";

/** What to do once the state is durable. Each may be repeated after a crash. */
export type Effect =
  /** Everything but the start; results in `prepared` or `ended`. */
  | { readonly do: "prepare"; readonly execution: Execution }
  /** Starts it and waits for the end; results in `ended`. */
  | { readonly do: "run"; readonly execution: Execution; readonly handle: string }
  /** The same after a restart; results in `gone` if nothing is found. */
  | { readonly do: "recover"; readonly execution: Execution; readonly handle: string }
  /** Results in `stopped`, or `ended` if that comes first. */
  | { readonly do: "stop"; readonly execution: Execution }
  | { readonly do: "discard"; readonly execution: Execution }
  /** Removes the traces of all other executions, which an earlier process may have left. */
  | { readonly do: "sweep"; readonly keep: Execution | undefined };

export interface Step {
  readonly state: AgentState;
  readonly effects: readonly Effect[];
}

export const idle: AgentState = { outbox: [], nextSeq: 1 };

/** The next state; the same object if nothing changes. Inputs may be repeated, late, and after a crash. */
export function advance(state: AgentState, input: Input): Step {
  switch (input.is) {
    case "start":
      return step(start(state, input.workflow));
    case "stop":
      return stop(state, input.workflow, input.message);
    case "answered":
      return answered(state, input.seq, input.answer);
    case "prepared":
      return prepared(state, input.execution, input.handle);
    case "ended":
      return ended(state, input.execution, input.ending);
    case "stopped":
      return ended(state, input.execution, { is: "failed", reason: "Canceled", message: told.stopped });
    case "gone":
      return gone(state, input.execution);
    case "restarted":
      return step(state, ...effectsOwed(state));
  }
}

const step = (state: AgentState, ...effects: readonly Effect[]): Step => ({ state, effects });

export function currentAction({ workflow, index }: Pick<Work, "workflow" | "index">): AgentAction {
  const action = workflow.actions[index];
  if (action === undefined) throw new Error(`workflow ${workflow.id} has no action ${index}`);
  return action;
}

export const executionOf = (work: Work): Execution => ({
  workflow: work.workflow.id,
  action: currentAction(work),
  attempt: work.attempt,
});

const isOf = (work: Work | undefined, execution: Execution): work is Work =>
  work !== undefined && isSameExecution(executionOf(work), execution);

const tell = (state: AgentState, workflow: string, event: AgentEvent): AgentState => ({
  ...state,
  outbox: [...state.outbox, { seq: state.nextSeq, workflow, event }],
  nextSeq: state.nextSeq + 1,
});

const inPhase = (state: AgentState, work: Work, phase: Phase): AgentState => ({ ...state, work: { ...work, phase } });

function free({ work: _done, ...rest }: AgentState): AgentState {
  return rest;
}

/** Nothing runs before the server accepts the start. */
function announce(state: AgentState, work: Omit<Work, "phase">): AgentState {
  const announced = tell(state, work.workflow.id, { is: "started", action: currentAction(work).id });
  return { ...announced, work: { ...work, phase: { is: "announced" } } };
}

/** Commands may be repeated: an event is delivered again; another workflow is refused and comes again later. */
function start(state: AgentState, workflow: AgentWorkflow): AgentState {
  const { work, outbox } = state;
  const isWaiting = outbox.some((waiting) => waiting.workflow === workflow.id);
  if (work?.phase.is === "interrupted" && work.workflow.id === workflow.id && workflow.actions.length > 0) {
    const again = workflow.actions[0]?.id === currentAction(work).id;
    return announce(state, { workflow, index: 0, attempt: again ? work.attempt + 1 : 1 });
  }
  if (isWaiting) return state;
  if (work?.workflow.id === workflow.id) {
    const hasBegun = work.phase.is === "preparing" || work.phase.is === "running";
    return hasBegun ? tell(state, workflow.id, { is: "started", action: currentAction(work).id }) : state;
  }
  if (workflow.actions.length === 0)
    return tell(state, workflow.id, { is: "rejected", reason: "NoActions", message: told.noActions });
  if (work !== undefined && work.phase.is !== "interrupted") {
    const message = told.busy(work.workflow.id);
    return tell(state, workflow.id, { is: "rejected", reason: "WorkflowInProgress", message });
  }
  return announce(state, { workflow, index: 0, attempt: 1 });
}

function stop(state: AgentState, workflow: string, message: string): Step {
  const { work } = state;
  if (work?.workflow.id !== workflow) return step(state);
  switch (work.phase.is) {
    case "stopping":
      return step(state);
    case "preparing":
    case "running":
      return step(inPhase(state, work, { is: "stopping", message }), { do: "stop", execution: executionOf(work) });
    case "announced":
    case "interrupted":
      return step(canceled(withoutStart(state, work), currentAction(work), message));
    case "finished":
      return step(canceled(state, currentAction({ ...work, index: work.index + 1 }), message));
  }
}

/** Confirmed by a failure of the action that runs or would have run next. */
function canceled(state: AgentState, action: AgentAction, message: string): AgentState {
  const workflow = state.work?.workflow.id ?? "";
  return tell(free(state), workflow, { is: "failed", action: action.id, reason: "Canceled", message });
}

/** Drops a start that was not delivered. If it is being delivered, its answer comes late, which is harmless. */
const withoutStart = (state: AgentState, { workflow }: Work): AgentState => ({
  ...state,
  outbox: state.outbox.filter((waiting) => waiting.workflow !== workflow.id || waiting.event.is !== "started"),
});

/** Answers of unknown events are ignored: the event was answered before or dropped. */
function answered(state: AgentState, seq: number, answer: Answer): Step {
  const delivered = state.outbox.find((waiting) => waiting.seq === seq);
  if (delivered === undefined) return step(state);
  const rest: AgentState = { ...state, outbox: state.outbox.filter((waiting) => waiting !== delivered) };
  const { work } = rest;
  if (work?.workflow.id !== delivered.workflow) return step(rest);
  return answer === "ok" ? agreed(rest, work, delivered.event) : refused(rest, work, delivered.event);
}

function agreed(state: AgentState, work: Work, { is }: AgentEvent): Step {
  if (is === "started" && work.phase.is === "announced")
    return step(inPhase(state, work, { is: "preparing" }), { do: "prepare", execution: executionOf(work) });
  if (is === "succeeded" && work.phase.is === "finished")
    return step(announce(state, { workflow: work.workflow, index: work.index + 1, attempt: 1 }));
  return step(state);
}

/** Stops a refused workflow and reports it like a cancellation, which a cancelling server waits for. */
function refused(state: AgentState, work: Work, { is }: AgentEvent): Step {
  if (is === "started") return stop(state, work.workflow.id, told.refused);
  return step(is === "succeeded" && work.phase.is === "finished" ? free(state) : state);
}

function prepared(state: AgentState, execution: Execution, handle: string): Step {
  const { work } = state;
  if (!isOf(work, execution)) return step(state, { do: "discard", execution });
  if (work.phase.is !== "preparing") return step(state);
  return step(inPhase(state, work, { is: "running", handle }), { do: "run", execution, handle });
}

/** An action that was told to stop counts as canceled however it ends: many programs then exit with 0. */
function ended(state: AgentState, execution: Execution, ending: Ending): Step {
  const { work } = state;
  if (!isOf(work, execution)) return step(state);
  const discard: Effect = { do: "discard", execution };
  const { phase, workflow, index } = work;
  if (phase.is === "stopping") return step(canceled(state, execution.action, phase.message), discard);
  if (phase.is !== "preparing" && phase.is !== "running") return step(state);
  const result = tell(state, workflow.id, { ...ending, action: execution.action.id });
  const goesOn = ending.is === "succeeded" && index + 1 < workflow.actions.length;
  return step(goesOn ? inPhase(result, work, { is: "finished" }) : free(result), discard);
}

/** It was started and may have done anything; only the server knows whether to try again. */
function gone(state: AgentState, execution: Execution): Step {
  const { work } = state;
  if (!isOf(work, execution) || work.phase.is !== "running") return step(state);
  return step(inPhase(withoutStart(state, work), work, { is: "interrupted" }), { do: "discard", execution });
}

function effectsOwed({ work }: AgentState): readonly Effect[] {
  const owed = work === undefined ? undefined : effectFor(work);
  return owed === undefined ? [{ do: "sweep", keep: undefined }] : [{ do: "sweep", keep: owed.execution }, owed];
}

function effectFor(work: Work): Exclude<Effect, { readonly do: "sweep" }> | undefined {
  const execution = executionOf(work);
  switch (work.phase.is) {
    case "preparing":
      return { do: "prepare", execution };
    case "running":
      return { do: "recover", execution, handle: work.phase.handle };
    case "stopping":
      return { do: "stop", execution };
    case "announced":
    case "finished":
    case "interrupted":
      return undefined;
  }
}

export interface Resumed {
  readonly workflow: string;
  readonly action: string;
  readonly state: "running" | "interrupted";
}

/** All workflows the agent still holds, including those whose end was not acknowledged. */
export function resumedBy({ work, outbox }: AgentState): readonly Resumed[] {
  const resumed = new Map<string, Resumed>();
  for (const { workflow, event } of outbox) {
    if (event.is !== "rejected") resumed.set(workflow, { workflow, action: event.action, state: "running" });
  }
  if (work !== undefined) {
    const { id } = work.workflow;
    const state = work.phase.is === "interrupted" ? "interrupted" : "running";
    resumed.set(id, { workflow: id, action: currentAction(work).id, state });
  }
  return [...resumed.values()];
}
