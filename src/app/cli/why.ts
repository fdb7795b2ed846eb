import {
  type Explained,
  isTerminal,
  type ObjectRef,
  type RunView,
  type StepView,
  summarizeItems,
} from "#engine/index.ts";
import { formatInstant } from "#lib/base/index.ts";

/**
 * What a step waits for; `nothing` after its end. `controller`: it is ready, so if this lasts, no controller is
 * running.
 */
export type WaitKind =
  | "nothing"
  | "dependencies"
  | "main-steps"
  | "suspension"
  | "controller"
  | "slot"
  | "backoff"
  | "timer"
  | "lock"
  | "queue"
  | "quota"
  | "agent"
  | "inputs"
  | "kind"
  | "reference"
  | "approval"
  | "hold-up"
  | "items"
  | "child"
  | "cancel";

export interface StepWhy extends Explained {
  readonly step: string;
  readonly phase: StepView["phase"];
  readonly waitsFor: WaitKind;
  /** Unsettled dependencies; for `slot`, the active steps. */
  readonly steps?: readonly string[];
  /** When the wait ends. */
  readonly until?: string;
  readonly child?: ObjectRef;
  /** Evaluated once its dependencies are settled. */
  readonly condition?: string;
}

/** Who suspended the run, if its RunAction still exists. */
export interface SuspendedBy {
  readonly by?: string;
  readonly reason?: string;
}

/** The output of `slipway why -o json`. */
export interface Why extends Explained {
  readonly run: string;
  readonly phase: RunView["phase"];
  readonly done: number;
  readonly total: number;
  readonly deadline?: string;
  readonly suspended?: SuspendedBy;
  /** All unsettled steps, or the named step and then the steps it waits for. */
  readonly steps: readonly StepWhy[];
}

export interface WhyContext {
  /** The step to explain; it exists. */
  readonly step?: string | undefined;
  readonly suspendedBy?: SuspendedBy | undefined;
  readonly conditionOf: (step: string) => string | undefined;
}

/** Pure. Explains every step once: O(steps + dependencies). */
export function whyOf(view: RunView, context: WhyContext): Why {
  const { reason, message, deadlineAt, progress } = view;
  // The phase is no proof: a run that only waits for approvals is Suspended too.
  const isSuspended = view.actions.includes("resume");
  const steps = chosen(view, context.step).map((step) => stepWhy(step, view, isSuspended, context));
  return {
    run: view.name,
    phase: view.phase,
    ...explained({ reason, message }),
    ...progress,
    ...(deadlineAt === undefined || isTerminal(view.phase) ? {} : { deadline: formatInstant(deadlineAt) }),
    ...(isSuspended ? { suspended: context.suspendedBy ?? {} } : {}),
    steps,
  };
}

/** All unsettled steps; or one and what it waits for, down to active steps. */
function chosen({ steps }: RunView, asked: string | undefined): readonly StepView[] {
  if (asked === undefined) return steps.filter(({ phase }) => !isTerminal(phase));
  const byId = new Map(steps.map((step) => [step.id, step]));
  const found = new Map<string, StepView>();
  const waiting = [asked];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const step = byId.get(id);
    if (step === undefined || found.has(id)) continue;
    found.set(id, step);
    waiting.push(...step.waitingFor.toReversed());
  }
  return [...found.values()];
}

/** Prefers what is nearer to the cause than the step's own message: its Pod, or its items. */
function stepWhy(step: StepView, view: RunView, isSuspended: boolean, { conditionOf }: WhyContext): StepWhy {
  const { id, phase, holdUp, items, child, notBefore } = step;
  const waitsFor = waitOf(step, view, isSuspended);
  const condition = phase === "Pending" ? conditionOf(id) : undefined;
  const others = waitsFor === "dependencies" ? step.waitingFor : waitsFor === "slot" ? activeSteps(view) : [];
  const told =
    waitsFor === "hold-up" ? (holdUp ?? {}) : waitsFor === "items" && items ? { message: summarizeItems(items) } : step;
  return {
    step: id,
    phase,
    waitsFor,
    ...explained(told),
    ...(others.length === 0 ? {} : { steps: others }),
    ...(phase === "Waiting" && notBefore !== undefined ? { until: formatInstant(notBefore) } : {}),
    // A retried step still has the child of its last attempt.
    ...(child === undefined || isTerminal(phase) || phase === "Pending" ? {} : { child }),
    ...(condition === undefined ? {} : { condition }),
  };
}

/** What a waiting step waits for, by its reason. */
const waits: Readonly<Record<string, WaitKind>> = {
  Ready: "slot",
  Backoff: "backoff",
  Timer: "timer",
  Lock: "lock",
  Quota: "quota",
  Agent: "agent",
  Inputs: "inputs",
  KindNotFound: "kind",
  Forbidden: "kind",
  ReferenceNotFound: "reference",
};

/** The nearest cause only. */
function waitOf(step: StepView, view: RunView, isSuspended: boolean): WaitKind {
  switch (step.phase) {
    case "Pending":
      if (step.waitingFor.length > 0) return "dependencies";
      if (isQueued(view)) return "queue";
      if (step.final === true && view.steps.some((one) => one.final !== true && !isTerminal(one.phase)))
        return "main-steps";
      return isSuspended ? "suspension" : "controller";
    case "Waiting":
      return isSuspended && step.reason === "Ready" ? "suspension" : (waits[step.reason ?? "Ready"] ?? "lock");
    case "Starting":
    case "Running":
      if (step.holdUp !== undefined) return "hold-up";
      return step.items === undefined ? "child" : step.reason === "Lock" ? "lock" : "items";
    case "Suspended":
      return "approval";
    case "Cancelling":
      return "cancel";
    case "Succeeded":
    case "Failed":
    case "Skipped":
    case "Canceled":
      return "nothing";
  }
}

/** Other runs with its concurrency key come first. */
const isQueued = ({ phase, reason }: RunView): boolean => phase === "Pending" && reason === "Queued";

/** Only the dialect knows which of them hold a slot. */
const activeSteps = ({ steps }: RunView): readonly string[] =>
  steps.flatMap(({ id, phase }) => (phase === "Starting" || phase === "Running" || phase === "Cancelling" ? [id] : []));

const explained = ({ reason, message }: { reason?: string | undefined; message?: string | undefined }): Explained => ({
  ...(reason === undefined || reason === "" ? {} : { reason }),
  ...(message === undefined || message === "" ? {} : { message }),
});
