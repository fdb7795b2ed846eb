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
 * What one step waits for; `nothing` for one that is over. `controller`: everything it needs is there, so that only a pass of the
 * controller is missing; for longer than a moment that means that none runs.
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

/** One step: what it waits for, and in words what is known of that. */
export interface StepWhy extends Explained {
  readonly step: string;
  readonly phase: StepView["phase"];
  readonly waitsFor: WaitKind;
  /** Dependencies that are not settled; for a slot the steps that may hold one. */
  readonly steps?: readonly string[];
  /** Nothing happens before. */
  readonly until?: string;
  readonly child?: ObjectRef;
  /** Asked when its dependencies are settled. */
  readonly condition?: string;
}

/** Who has stopped the run, where a RunAction that is still there says so. */
export interface SuspendedBy {
  readonly by?: string;
  readonly reason?: string;
}

/** What a run, or one step of it, waits for: what `slipway why -o json` prints. */
export interface Why extends Explained {
  readonly run: string;
  readonly phase: RunView["phase"];
  readonly done: number;
  readonly total: number;
  readonly deadline?: string;
  readonly suspended?: SuspendedBy;
  /** The step that was asked for first; every step after the one that waits for it. Without one: all that are not settled. */
  readonly steps: readonly StepWhy[];
}

/** What is known beside the view. */
export interface WhyContext {
  /** The only step that is asked for, with what it waits for; it exists. */
  readonly step?: string | undefined;
  readonly suspendedBy?: SuspendedBy | undefined;
  readonly conditionOf: (step: string) => string | undefined;
}

/** Pure. Every step is told once, however many wait for it: O(steps + dependencies). */
export function whyOf(view: RunView, context: WhyContext): Why {
  const { reason, message, deadlineAt, progress } = view;
  // The phase does not tell: a run in which nothing but a question is left is Suspended as well.
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

/** All that are unsettled; or one, and what it waits for, down to what is active. */
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

/** The step's own reason and message, unless something nearer to the cause is known: its Pod, or how far its items are. */
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
    // A step that a retry has taken back still knows the child of its last attempt.
    ...(child === undefined || isTerminal(phase) || phase === "Pending" ? {} : { child }),
    ...(condition === undefined ? {} : { condition }),
  };
}

/** Reasons of a step that is ready in every respect but one. */
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

/** One answer, the nearest cause: a step without a slot in a suspended run would not get one if there were one. */
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

/** Nothing of it has begun, because others with its concurrency key come first; the run tells who. */
const isQueued = ({ phase, reason }: RunView): boolean => phase === "Pending" && reason === "Queued";

/** Which of them count is known to the dialect only: references and timers hold no slot. */
const activeSteps = ({ steps }: RunView): readonly string[] =>
  steps.flatMap(({ id, phase }) => (phase === "Starting" || phase === "Running" || phase === "Cancelling" ? [id] : []));

/** Empty texts say nothing. */
const explained = ({ reason, message }: { reason?: string | undefined; message?: string | undefined }): Explained => ({
  ...(reason === undefined || reason === "" ? {} : { reason }),
  ...(message === undefined || message === "" ? {} : { message }),
});
