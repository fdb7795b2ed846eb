import type { Millis } from "#lib/base/index.ts";
import type { Machine } from "../objects.ts";
import type { JobEnding } from "./exit-codes.ts";

// The machine agent as a pure function: what it has just observed leads to effects and the next state.

export type AgentPlace =
  | "AGENT_INIT"
  | "AGENT_WAIT_FOR_RUNNABLE"
  | "AGENT_RUN_TASK"
  | "AGENT_WAIT_FOR_CHANGE_STAGE"
  | "AGENT_CHANGE_STAGE"
  | "AGENT_REBOOT"
  | "AGENT_POWEROFF"
  | "AGENT_EXIT";

/** What the agent remembers of its machine: nothing secret, since the journal holds it. */
export type KnownMachine = Pick<
  Machine,
  "Uuid" | "Name" | "Workflow" | "Stage" | "BootEnv" | "Context" | "Tasks" | "CurrentTask" | "Runnable" | "Available"
>;

export interface AgentState {
  readonly at: AgentPlace;
  readonly machine: KnownMachine;
  /** Of the last transition; decides the exit code. */
  readonly error?: string;
}

/** How the agent was asked to behave. */
export interface Manner {
  /** The context whose jobs it runs; empty: the machine itself. */
  readonly context: string;
  readonly isOneShot: boolean;
  readonly exitsOnFailure: boolean;
}

export type Observation =
  /** AGENT_INIT is done. */
  | { readonly is: "initialized"; readonly machine: KnownMachine }
  /** The condition of a wait holds for this machine. */
  | { readonly is: "met"; readonly machine: KnownMachine }
  | { readonly is: "timeout" }
  | { readonly is: "no-job" }
  | { readonly is: "ran"; readonly task: string; readonly ending: JobEnding }
  /** The stage that the machine was put into, or undefined if it stays in its stage. */
  | { readonly is: "stage"; readonly entered?: { readonly bootEnv: string } }
  /** Reboot and power off: done, or not this agent's business. */
  | { readonly is: "powered" }
  | { readonly is: "interrupted" }
  | { readonly is: "failed"; readonly error: string };

export type Effect =
  | { readonly do: "sleep"; readonly ms: Millis }
  /** Only while the machine is in the empty context. Its failure is logged. */
  | { readonly do: "mark-not-runnable" };

export interface Transition {
  readonly state: AgentState;
  /** In their order, before the next state begins. */
  readonly effects: readonly Effect[];
}

/** After a failure of AGENT_INIT, which is mostly an unreachable server. */
const initPause: Millis = 30_000;
const failurePause: Millis = 5_000;

export const knownOf = (machine: Machine): KnownMachine => {
  const { Uuid, Name, Workflow, Stage, BootEnv, Context, Tasks, CurrentTask, Runnable, Available } = machine;
  return { Uuid, Name, Workflow, Stage, BootEnv, Context, Tasks, CurrentTask, Runnable, Available };
};

/** Whether a wait ends with this machine. */
export function isMet({ at, machine: known }: AgentState, seen: KnownMachine, context: string): boolean {
  const concerns = seen.Context === context || seen.BootEnv !== known.BootEnv;
  if (!seen.Available || !concerns) return false;
  return at === "AGENT_WAIT_FOR_RUNNABLE" ? seen.Runnable : hasChanged(known, seen);
}

const hasChanged = (known: KnownMachine, seen: KnownMachine): boolean =>
  known.CurrentTask !== seen.CurrentTask ||
  known.Runnable !== seen.Runnable ||
  known.BootEnv !== seen.BootEnv ||
  known.Stage !== seen.Stage ||
  known.Context !== seen.Context ||
  known.Tasks.length !== seen.Tasks.length ||
  known.Tasks.some((task, index) => task !== seen.Tasks[index]);

/** The stage that a machine without tasks enters by itself: the installed system after an installer. */
export const nextStageOf = ({ BootEnv, Stage }: KnownMachine): string | undefined =>
  BootEnv.endsWith("-install") && Stage !== "local" ? "local" : undefined;

/** Where an agent begins. `earlier` is what an agent knew that ran since the last boot of the host. */
export function startOf(machine: KnownMachine, earlier: KnownMachine | undefined, { context }: Manner): Transition {
  if (earlier === undefined || context !== "" || earlier.BootEnv === machine.BootEnv)
    return { state: { at: "AGENT_INIT", machine }, effects: [] };
  return rebootOrExit({ at: "AGENT_INIT", machine: { ...machine, BootEnv: earlier.BootEnv } }, machine, context);
}

export function advance(state: AgentState, seen: Observation, manner: Manner): Transition {
  const { machine } = state;
  switch (seen.is) {
    case "failed":
      return failed(state, seen.error, manner);
    case "interrupted":
    case "powered":
      return to("AGENT_EXIT", machine);
    case "initialized":
      // A boot environment that changed while the server could not be reached must still be noticed.
      return to("AGENT_WAIT_FOR_RUNNABLE", { ...seen.machine, BootEnv: machine.BootEnv });
    case "timeout":
      return manner.isOneShot ? to("AGENT_EXIT", machine) : { state, effects: [] };
    case "met":
      return met(state, seen.machine, manner);
    case "no-job":
      return to(machine.Workflow === "" ? "AGENT_CHANGE_STAGE" : "AGENT_WAIT_FOR_CHANGE_STAGE", machine);
    case "ran":
      return ran(state, seen.task, seen.ending, manner);
    case "stage": {
      if (seen.entered === undefined) return to("AGENT_WAIT_FOR_CHANGE_STAGE", machine);
      const { bootEnv } = seen.entered;
      return bootEnv === "" || bootEnv === machine.BootEnv
        ? to("AGENT_WAIT_FOR_RUNNABLE", machine)
        : rebootOrExit(state, machine, manner.context);
    }
  }
}

const to = (at: AgentPlace, machine: KnownMachine): Transition => ({ state: { at, machine }, effects: [] });

function failed({ at, machine }: AgentState, error: string, { exitsOnFailure }: Manner): Transition {
  const isLast = exitsOnFailure || at === "AGENT_REBOOT" || at === "AGENT_POWEROFF";
  const next = { at: isLast ? "AGENT_EXIT" : "AGENT_INIT", machine, error } as const;
  const ms = at === "AGENT_INIT" ? initPause : failurePause;
  return { state: next, effects: isLast ? [] : [{ do: "sleep", ms }] };
}

function met(state: AgentState, seen: KnownMachine, { context }: Manner): Transition {
  if (context === "" && seen.BootEnv !== state.machine.BootEnv) return rebootOrExit(state, seen, context);
  if (seen.Context !== context) return to(state.at, seen);
  return to(seen.Runnable ? "AGENT_RUN_TASK" : "AGENT_WAIT_FOR_RUNNABLE", seen);
}

function ran(state: AgentState, task: string, { state: result, asks }: JobEnding, manner: Manner): Transition {
  const { machine } = state;
  if (asks === "reboot") return rebootOrExit(state, machine, manner.context);
  if (asks !== undefined) return to(asks === "poweroff" ? "AGENT_POWEROFF" : "AGENT_EXIT", machine);
  if (result !== "failed" || !manner.exitsOnFailure) return to("AGENT_WAIT_FOR_RUNNABLE", machine);
  return { state: { at: "AGENT_EXIT", machine, error: `task ${task} failed` }, effects: [] };
}

/** Installers of operating systems reboot by themselves. */
function rebootOrExit({ machine: old }: AgentState, machine: KnownMachine, context: string): Transition {
  const at = old.BootEnv.endsWith("-install") ? "AGENT_EXIT" : "AGENT_REBOOT";
  const marks = context === "" && machine.Context === "";
  return { state: { at, machine }, effects: marks ? [{ do: "mark-not-runnable" }] : [] };
}
