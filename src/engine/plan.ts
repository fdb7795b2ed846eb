import type { Graph } from "./graph.ts";
import type { Approval, Explained, RunState, SkipReason, StepState, WaitReason } from "./run.ts";
import type { Instant, JsonObject, Millis } from "./values.ts";

/** A settled direct dependency, as a gate sees it. Hidden barriers are looked through. */
export interface Dependency {
  /** Full id. */
  readonly id: string;
  readonly state: StepState;
  /** Succeeded, skipped by its own condition, or failed and forgiven. */
  readonly ok: boolean;
}

/** How the main plan ended, for the gates of final steps. */
export interface MainOutcome {
  readonly phase: "Succeeded" | "Failed" | "Canceled";
  /** Full ids of the steps that failed and were not forgiven, in topological order. */
  readonly failed: readonly string[];
}

/** What a gate may look at. Valid only during the call of the gate; everything in it is read lazily. */
export interface GateScope {
  /** Full id of the step whose gate this is. */
  readonly id: string;
  /** The run as it was when the call of `advance` began, number and times included. For steps use `state`. */
  readonly run: RunState;
  /** Status functions over the direct dependencies: all ok; at least one not ok. O(number of dependencies). */
  success(): boolean;
  failure(): boolean;
  /** The settled direct dependencies in declaration order. */
  dependencies(): readonly Dependency[];
  /** The current state of any step by full id; pending when the plan does not know it. Only ancestors are sure to be settled. */
  state(id: string): StepState;
  /** How the main plan ended; undefined unless the step belongs to the final plan. */
  main(): MainOutcome | undefined;
}

export type GateResult =
  | { readonly run: true }
  | { readonly skip: SkipReason; readonly message?: string }
  | { readonly error: string };

/** Decides once, when the last dependency settles, whether a step runs. A pure function; must not throw. */
export type Gate = (scope: GateScope) => GateResult;

/** When a timer step is due, asked once when its gate passes: after a while, or at an instant. */
export type Due = (
  scope: GateScope,
) => { readonly after: Millis } | { readonly at: Instant } | { readonly error: string };

/** A failed attempt, as a retry policy sees it. `Lost`: the child vanished; `Timeout`: the engine cancelled it. */
export interface Failure {
  readonly cause: "Error" | "Timeout" | "Lost";
  readonly attempt: number;
  readonly reason: string;
  readonly message?: string;
}

/**
 * What happens after a failed attempt. An attempt is repeated when its fact says `retryable` (timeouts and lost children
 * always do), `retryable` here agrees, retries are left and the run is not closing.
 */
export interface RetryPolicy {
  /** Attempts after the first, per run number. */
  readonly limit: number;
  /** Pause after the n-th failure of this run number, n from 1. Pure; for jitter see `jittered`. */
  readonly delay: (failures: number) => Millis;
  /** Absent: every failure may be repeated. `scope` shows the run as a gate of the step would see it. Pure; must not throw. */
  readonly retryable?: (failure: Failure, scope: GateScope) => boolean;
}

/**
 * What a step does when it starts. `work`: has a child that the reconciler creates and cancels. `observe`: looks at
 * something it never creates, deletes or counts as active. `approval`: `Suspended` until a person decides. `timer`: waits
 * until `due`. `group`: runs the nested plan. `fan`: has a child for each of its items. `barrier`: hidden, see `stages`.
 */
export type StepKind = "work" | "observe" | "approval" | "timer" | "group" | "fan" | "barrier";

/** One child for each of many items. Retry, timeout and grace of the step are those of each item, its deadline is for all. */
export interface Fan {
  /** How many items there are, and which of them are skipped: asked once, when the step starts. Pure; must not throw. */
  readonly count: (
    scope: GateScope,
  ) =>
    | { readonly count: number; readonly skipped?: readonly number[] }
    | { readonly error: string; readonly reason?: string };
  /** Items active at once. Absent: no limit of its own. */
  readonly maxParallel?: number;
  /** The first failure cancels the other items. */
  readonly failFast: boolean;
  /** Each item starts only after a grant that names it; a grant counts in the call it is given to. Absent: items are free. */
  readonly admission?: WaitReason;
  /** Outputs that are lists over the items also when no item has given one. */
  readonly outputs: readonly string[];
}

/** How an approval is decided. Everything is pure and must not throw. */
export interface ApprovalRule {
  /** Different people who must agree; one rejection ends the step. */
  readonly needed: number;
  /** What people are asked, made when the step begins to wait. An error fails the step. */
  readonly question: (scope: GateScope) => { readonly message?: string } | { readonly error: string };
  /** What the step gives once they have agreed, or once silence counts as agreement. */
  readonly outputs: (approvals: readonly Approval[]) => JsonObject;
}

/** One node of a plan: what the engine must know of a step. Durations are greater than 0. */
export interface PlanStep {
  /** Id within its plan; the full id of a nested step is `group/sub`. */
  readonly id: string;
  readonly kind: StepKind;
  readonly gate: Gate;
  /** The gate names `failure()` or `always()`: the step still starts while the run is failing. */
  readonly afterFailure?: boolean;
  /** Not used by approvals, timers and groups. */
  readonly retry: RetryPolicy;
  /** `Continue` forgives a failure: dependants run and the run may still succeed. */
  readonly onFailure: "Fail" | "Continue";
  /** Higher starts first when slots are short. */
  readonly priority: number;
  /** One attempt, from the intent to start it. For an approval: the time to decide; for a group: its whole run. */
  readonly timeout?: Millis;
  /** How long one attempt may stay `Starting`. */
  readonly pendingTimeout?: Millis;
  /** The whole step from the moment it is ready: retries and every kind of waiting included, suspension excluded. */
  readonly deadline?: Millis;
  /** Given to the child when it is cancelled. */
  readonly graceMs?: Millis;
  /** How long a cancel may take before the step is settled without its child's word. Absent: no limit. */
  readonly cancelTimeout?: Millis;
  /** Approval: how it is decided. Absent: by whoever comes first, whose values are the outputs. */
  readonly approval?: ApprovalRule;
  /** Approval: what the timeout means. Absent: `Reject`. */
  readonly onTimeout?: "Reject" | "Approve";
  /** The step starts only after a grant and waits for it with this reason. */
  readonly admission?: WaitReason;
  /** Timer: when it is due. Absent: at once. */
  readonly due?: Due;
  /** A loop: a new child after each that went well, until a fact no longer says `again`. Retries are those of each round. */
  readonly repeat?: { readonly maxIterations: number; readonly interval: Millis };
  /** Fan-out: what it is over. Absent: no items. */
  readonly fan?: Fan;
  /** Group: the nested plan. Of its policy only `strategy` and `parallelism` count; its `final` is not run. */
  readonly group?: Plan;
}

export interface RunPolicy {
  /**
   * Once a step failed and was not forgiven: `Continue` skips only its dependants; `Drain` starts nothing new except
   * steps with `afterFailure`; `Cancel` also cancels what is active, with the same exception.
   */
  readonly strategy: "Continue" | "Drain" | "Cancel";
  /** `work` steps and items that may be active at once, nested ones included. Absent: no limit. */
  readonly parallelism?: number;
  /** From `startedAt`, suspension excluded. For a final plan: from the end of the main plan. */
  readonly deadline?: Millis;
  /** Nothing new starts. */
  readonly suspended?: boolean;
  /** A run that has not begun stays `Pending`, explained by this; one that has begun does not mind. A cancel ends it all the same. */
  readonly held?: Explained;
}

/** What is to be done: immutable, built once per generation of a resource. `steps[i]` belongs to `graph.ids[i]`. */
export interface Plan {
  readonly graph: Graph;
  readonly steps: readonly PlanStep[];
  readonly policy: RunPolicy;
  /** Runs when the main plan is settled, whatever its outcome. Its ids differ from those of the main plan. */
  readonly final?: Plan;
}
