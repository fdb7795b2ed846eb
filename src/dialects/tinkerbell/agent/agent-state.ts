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

// The agent as a pure machine. Whatever happens is an input; the answer is a new state, which is durable before anything else is done, and
// what is then to be done. Because of that order a crash at any moment leaves one of two things: the earlier state, as if the input had not
// come yet (commands come again, and how an action has ended can be seen again), or the later one, whose effects `restarted` asks for.

/** Where the action that is the turn's stands. */
export type Phase =
  /** Its start is told and not acknowledged: nothing runs. */
  | { readonly is: "announced" }
  /** It may run. Its image is fetched, its container made; nothing was started. */
  | { readonly is: "preparing" }
  /** It was started, or is just being started. */
  | { readonly is: "running"; readonly handle: string }
  /** It is being ended; `message` is what is told of it then. */
  | { readonly is: "stopping"; readonly message: string }
  /** It has succeeded, another one follows, and the server does not know of it yet. */
  | { readonly is: "finished" }
  /** It was started, and what became of it is not known: the server decides what to do. */
  | { readonly is: "interrupted" };

/** A workflow that is being carried out. */
export interface Work {
  readonly workflow: AgentWorkflow;
  /** Of the action whose turn it is. */
  readonly index: number;
  readonly attempt: number;
  readonly phase: Phase;
}

/** All that an agent has to know after a crash. Plain data. */
export interface AgentState {
  /** Absent: free. */
  readonly work?: Work;
  /** In the order in which they are to be told. What is told last of a workflow may still be here when the next one has begun. */
  readonly outbox: readonly Undelivered[];
  /** Of the next event. */
  readonly nextSeq: number;
}

/** What may happen to an agent. */
export type Input =
  | { readonly is: "start"; readonly workflow: AgentWorkflow }
  /** `message` tells people why. */
  | { readonly is: "stop"; readonly workflow: string; readonly message: string }
  /** The server has answered an event. */
  | { readonly is: "answered"; readonly seq: number; readonly answer: Answer }
  | { readonly is: "prepared"; readonly execution: Execution; readonly handle: string }
  | { readonly is: "ended"; readonly execution: Execution; readonly ending: Ending }
  /** Nothing of it runs any more, by our doing. */
  | { readonly is: "stopped"; readonly execution: Execution }
  /** Looked for after a restart and not found. */
  | { readonly is: "gone"; readonly execution: Execution }
  /** The first input of every process. */
  | { readonly is: "restarted" };

/** `refused`: the event can never be recorded, and the workflow is not to go on. */
export type Answer = "ok" | "refused";

/** What is to be done once the state is durable. Each may be asked for again after a crash. */
export type Effect =
  /** Everything but the start; answered by `prepared` or `ended`. */
  | { readonly do: "prepare"; readonly execution: Execution }
  /** The start, and to wait for the end; answered by `ended`. */
  | { readonly do: "run"; readonly execution: Execution; readonly handle: string }
  /** The same after a restart, answered by `gone` when nothing of it is found. */
  | { readonly do: "recover"; readonly execution: Execution; readonly handle: string }
  /** Answered by `stopped`, or by `ended` if that comes first. */
  | { readonly do: "stop"; readonly execution: Execution }
  /** Its traces are not needed any more. */
  | { readonly do: "discard"; readonly execution: Execution }
  /** The same for all of this agent but one, which an earlier process may not have come to. */
  | { readonly do: "sweep"; readonly keep: Execution | undefined };

export interface Step {
  readonly state: AgentState;
  readonly effects: readonly Effect[];
}

/** Of an agent that has never done anything. */
export const idle: AgentState = { outbox: [], nextSeq: 1 };

/** What becomes of the state. The same object when nothing does. Inputs may come twice, late and after a crash. */
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

/** The action whose turn it is. */
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

/** One more event to tell. */
const tell = (state: AgentState, workflow: string, event: AgentEvent): AgentState => ({
  ...state,
  outbox: [...state.outbox, { seq: state.nextSeq, workflow, event }],
  nextSeq: state.nextSeq + 1,
});

const inPhase = (state: AgentState, work: Work, phase: Phase): AgentState => ({ ...state, work: { ...work, phase } });

/** Free for the next workflow; what is still to be told is told first. */
function free({ work: _done, ...rest }: AgentState): AgentState {
  return rest;
}

/** Nothing runs before the server has agreed to it. */
function announce(state: AgentState, work: Omit<Work, "phase">): AgentState {
  const announced = tell(state, work.workflow.id, { is: "started", action: currentAction(work).id });
  return { ...announced, work: { ...work, phase: { is: "announced" } } };
}

/**
 * Commands come at least once. One for the workflow at hand is answered by telling its last event again, unless that is about to be told
 * anyway; one for another workflow is refused, so that it comes again later. An agent that was interrupted runs nothing, and takes both.
 */
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

/** A workflow that is not at hand has ended, or was never begun. */
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

/** Confirmed by the failure of the action that runs, or would have run next. */
function canceled(state: AgentState, action: AgentAction, message: string): AgentState {
  const workflow = state.work?.workflow.id ?? "";
  return tell(free(state), workflow, { is: "failed", action: action.id, reason: "Canceled", message });
}

/** A start that is not to happen any more is not told either. One that is just being told is answered late, which is harmless. */
const withoutStart = (state: AgentState, { workflow }: Work): AgentState => ({
  ...state,
  outbox: state.outbox.filter((waiting) => waiting.workflow !== workflow.id || waiting.event.is !== "started"),
});

/** An event that is not waiting any more was answered before, or taken back. */
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

/**
 * What the server does not want does not run, and what runs is ended. That it has not run is told like a cancellation: a server that
 * is cancelling waits for just that, and any other is free to refuse it again.
 */
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

/** However an action ends after it was told to stop, it was canceled: many programs end well when they are asked to end. */
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

/** It was started, and may have done anything. Only the server knows how often it may be tried. */
function gone(state: AgentState, execution: Execution): Step {
  const { work } = state;
  if (!isOf(work, execution) || work.phase.is !== "running") return step(state);
  return step(inPhase(withoutStart(state, work), work, { is: "interrupted" }), { do: "discard", execution });
}

/** What a process that has begun anew has to do for the state it finds. */
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

/** What a server is told of a workflow when the connection is made. */
export interface Resumed {
  readonly workflow: string;
  readonly action: string;
  readonly state: "running" | "interrupted";
}

/**
 * All workflows that the agent is not free of: the one at hand, and those whose end was not acknowledged. Who names none is taken to have
 * lost what it had, and is told to do it again.
 */
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
