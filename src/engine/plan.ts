import type { Graph } from "./graph.ts";
import type { Approval, Explained, RunState, SkipReason, StepState, WaitReason } from "./run.ts";
import type { Instant, JsonObject, Millis } from "./values.ts";

/** A settled direct dependency, as a gate sees it. Hidden barriers are looked through. */
export interface Dependency {
  /** Full id. */
  readonly id: string;
  readonly state: StepState;
  /** Succeeded, skipped by its own condition, or forgiven. */
  readonly ok: boolean;
}

/** Outcome of the main plan, for final gates. */
export interface MainOutcome {
  readonly phase: "Succeeded" | "Failed" | "Canceled";
  /** Unforgiven failures in topological order. */
  readonly failed: readonly string[];
}

/** Valid only during the gate's call; lazy. */
export interface GateScope {
  readonly id: string;
  /** As of the call of `advance`. For steps use `state`. */
  readonly run: RunState;
  /** Over the direct dependencies: all ok; one not ok. */
  success(): boolean;
  failure(): boolean;
  /** In declaration order. */
  dependencies(): readonly Dependency[];
  /** Pending if unknown. Only ancestors are certainly settled. */
  state(id: string): StepState;
  /** Only for steps of the final plan. */
  main(): MainOutcome | undefined;
}

/** `wait`: nothing is decided yet, and the next call of `advance` asks again. */
export type GateResult =
  | { readonly run: true }
  | { readonly wait: true }
  | { readonly skip: SkipReason; readonly message?: string }
  | { readonly error: string };

/** Decides once, when the last dependency settles, or in a later call if it said `wait`. Pure; must not throw. */
export type Gate = (scope: GateScope) => GateResult;

/** Asked once, when the gate passes. */
export type Due = (
  scope: GateScope,
) => { readonly after: Millis } | { readonly at: Instant } | { readonly error: string };

/** `Lost`: the child vanished; `Timeout`: the engine cancelled it. */
export interface Failure {
  readonly cause: "Error" | "Timeout" | "Lost";
  readonly attempt: number;
  readonly reason: string;
  readonly message?: string;
}

/** An attempt is repeated if its fact and `retryable` agree, retries are left and the run is not closing. */
export interface RetryPolicy {
  /** Attempts after the first, per run. */
  readonly limit: number;
  /** Pause after the n-th failure of the run, from 1. Pure. */
  readonly delay: (failures: number) => Millis;
  /** Absent: always. Pure; must not throw. */
  readonly retryable?: (failure: Failure, scope: GateScope) => boolean;
}

/**
 * What a step does when it starts. `work`: has a child that the reconciler creates and cancels. `observe`: looks at
 * something it never creates, deletes or counts as active. `approval`: `Suspended` until a person decides. `timer`:
 * waits until `due`. `group`: runs the nested plan. `fan`: has a child for each of its items. `barrier`: hidden, see
 * `stages`.
 */
export type StepKind = "work" | "observe" | "approval" | "timer" | "group" | "fan" | "barrier";

/** Retry, timeout and grace apply to items, the deadline to the step. */
export interface Fan {
  /** Number of items, and those to skip; asked once at the start. Pure; must not throw. */
  readonly count: (
    scope: GateScope,
  ) =>
    | { readonly count: number; readonly skipped?: readonly number[] }
    | { readonly error: string; readonly reason?: string };
  /** Absent: unlimited. */
  readonly maxParallel?: number;
  /** The first failure cancels the others. */
  readonly failFast: boolean;
  /** Each start needs a grant in the same call. Absent: none. */
  readonly admission?: WaitReason;
  /** Outputs that are lists even without values. */
  readonly outputs: readonly string[];
}

/** Pure; must not throw. */
export interface ApprovalRule {
  /** Different people who must approve; one rejection ends the step. */
  readonly needed: number;
  /** Made when the step begins to wait. An error fails it. */
  readonly question: (scope: GateScope) => { readonly message?: string } | { readonly error: string };
  /** After the approvals, or a timeout that approves. */
  readonly outputs: (approvals: readonly Approval[]) => JsonObject;
}

/** Durations are positive. */
export interface PlanStep {
  /** Within its plan; `group/sub` is the full id. */
  readonly id: string;
  readonly kind: StepKind;
  readonly gate: Gate;
  /** The step starts even while the run is failing. */
  readonly afterFailure?: boolean;
  /** Not for approvals, timers and groups. */
  readonly retry: RetryPolicy;
  /** `Continue` forgives a failure. */
  readonly onFailure: "Fail" | "Continue";
  /** Higher starts first. */
  readonly priority: number;
  /** Of an attempt, a decision, or a group. */
  readonly timeout?: Millis;
  /** Of an attempt in `Starting`. */
  readonly pendingTimeout?: Millis;
  /** Of the step from ready on, with retries and waits, without suspension. */
  readonly deadline?: Millis;
  /** For a cancelled child. */
  readonly graceMs?: Millis;
  /** Of a cancel; then the step is settled anyway. Absent: unlimited. */
  readonly cancelTimeout?: Millis;
  /** Absent: the first person decides. */
  readonly approval?: ApprovalRule;
  /** Absent: `Reject`. */
  readonly onTimeout?: "Reject" | "Approve";
  /** The step waits for a grant, with this reason. */
  readonly admission?: WaitReason;
  /** Absent: at once. */
  readonly due?: Due;
  /** A new child after each success until a fact lacks `again`. Retries are per round. */
  readonly repeat?: { readonly maxIterations: number; readonly interval: Millis };
  /** Absent: no items. */
  readonly fan?: Fan;
  /** Of the nested policy only `strategy` and `parallelism` count. */
  readonly group?: Plan;
}

export interface RunPolicy {
  /** After an unforgiven failure: skip dependants; start only `afterFailure`; or also cancel active steps. */
  readonly strategy: "Continue" | "Drain" | "Cancel";
  /** Of active `work` steps and items, including nested ones. */
  readonly parallelism?: number;
  /** From `startedAt`, or the end of the main plan; without suspension. */
  readonly deadline?: Millis;
  /** Nothing new starts. */
  readonly suspended?: boolean;
  /** An unstarted run stays `Pending` with this reason. A cancel still ends it. */
  readonly held?: Explained;
}

/** Immutable. `steps[i]` belongs to `graph.ids[i]`. */
export interface Plan {
  readonly graph: Graph;
  readonly steps: readonly PlanStep[];
  readonly policy: RunPolicy;
  /** Runs after the main plan, whatever its outcome. Ids are unique over both. */
  readonly final?: Plan;
}
