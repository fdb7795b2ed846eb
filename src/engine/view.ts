import type { ActionName } from "./facts.ts";
import type { ItemsState } from "./items.ts";
import type { Explained, RunPhase, StepPhase, Timed } from "./run.ts";
import type { Instant, JsonObject } from "./values.ts";

/** The languages Slipway speaks. */
export type Dialect = string;

export interface GroupKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
}

/** Names one object. Without `uid`: whatever bears the name now. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

/** Where the output of one attempt can be read. */
export interface LogRef {
  /** What people call this stream: the container or step name. */
  readonly name: string;
  readonly object: ObjectRef;
  readonly container?: string;
  /** No Pod of `object` prints it: it is read from the object's own log, where `container` says which of them. */
  readonly isOwn?: boolean;
  readonly attempt: number;
  /** Not of `object` itself, but of all Pods that its namespace has for the items of a fan-out. */
  readonly items?: ItemPods;
}

/** Pods of a fan-out, or runs where its items are runs, which are too many to be listed with the run. */
export interface ItemPods {
  /** The kind of run that each item is; their Pods are their own. */
  readonly runs?: { readonly apiVersion: string; readonly kind: string };
  readonly labelSelector: string;
  /** The labels that tell the attempt, and the index of the item. */
  readonly attemptLabel: string;
  readonly itemLabel: string;
}

/** A file a step left. `digest` is `sha256:<hex>`. */
export interface ArtifactRef {
  readonly name: string;
  readonly digest?: string;
  readonly sizeBytes?: number;
  /** How it is packed: `tar.gz`. Absent for a file as it was. */
  readonly archive?: string;
  readonly url?: string;
}

/**
 * One picture of a run for every dialect: command line, web interface, notifications and run actions know nothing else.
 * `phase` is the engine's word, `nativePhase` the dialect's own.
 */
export interface RunView extends Explained, Timed {
  readonly ref: ObjectRef;
  readonly dialect: Dialect;
  readonly name: string;
  readonly phase: RunPhase;
  readonly nativePhase: string;
  /** Run number, from 1. */
  readonly number?: number;
  readonly createdAt: Instant;
  readonly deadlineAt?: Instant;
  /** Settled steps of all visible ones. */
  readonly progress: Progress;
  /** In topological order, final steps last. */
  readonly steps: readonly StepView[];
  readonly parent?: ObjectRef;
  readonly children: readonly ObjectRef[];
  /** What can be done to the run now. */
  readonly actions: readonly ActionName[];
}

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** What keeps the child of an active step from being at work, in the words of whoever runs it. */
export interface HoldUp {
  /** One CamelCase word. */
  readonly reason: string;
  readonly message: string;
  /** It does not pass by waiting: somebody has to bring or to mend something. */
  readonly needsHelp: boolean;
}

export interface StepView extends Explained, Timed {
  /** Full id: `group/sub` for nested steps. */
  readonly id: string;
  readonly name: string;
  /** Full id of the group, stage or divider it is shown under. */
  readonly group?: string;
  /** Part of the final plan. */
  readonly final?: boolean;
  readonly phase: StepPhase;
  readonly nativePhase?: string;
  /** Full ids. */
  readonly dependencies: readonly string[];
  /** Dependencies that are not settled. */
  readonly waitingFor: readonly string[];
  /** Layer in a drawing: longest path from a root. */
  readonly rank: number;
  readonly attempt: number;
  /** Attempts allowed in all; absent when unlimited or unknown. */
  readonly attempts?: number;
  readonly notBefore?: Instant;
  /** Known only to callers who have looked at what the child is made of. */
  readonly holdUp?: HoldUp;
  readonly child?: ObjectRef;
  readonly logs: readonly LogRef[];
  readonly artifacts: readonly ArtifactRef[];
  /** Loop: the round it is at, from the second on. */
  readonly iteration?: number;
  /** Fan-out: run-length coded states in index order, `120S1F4R875P`. */
  readonly items?: Pick<ItemsState, "total" | "states" | "failures">;
  readonly outputs?: JsonObject;
  readonly actions: readonly ActionName[];
}

/** What a dialect contributes: the kinds whose objects are runs, and one pure function to look at them. */
export interface RunDialect<T> {
  readonly kinds: readonly GroupKind[];
  view(object: T, children: readonly unknown[]): RunView;
}
