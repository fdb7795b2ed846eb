import type { ActionName } from "./facts.ts";
import type { ItemsState } from "./items.ts";
import type { Explained, RunPhase, StepPhase, Timed } from "./run.ts";
import type { Instant, JsonObject } from "./values.ts";

export type Dialect = string;

export interface GroupKind {
  /** Empty for the core group. */
  readonly group: string;
  readonly kind: string;
}

/** Without `uid`: whatever has the name now. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
}

export interface LogRef {
  /** Container or step name. */
  readonly name: string;
  readonly object: ObjectRef;
  readonly container?: string;
  /** Read from the object's own log; `container` selects the stream. */
  readonly isOwn?: boolean;
  readonly attempt: number;
  /** Of all Pods of a fan-out's items. */
  readonly items?: ItemPods;
  /** Label selector: of the Pods in the object's namespace that the object did not create itself. */
  readonly pods?: string;
}

/** Pods, or runs, of a fan-out: too many to list. */
export interface ItemPods {
  /** If items are runs, whose Pods are their own. */
  readonly runs?: { readonly apiVersion: string; readonly kind: string };
  readonly labelSelector: string;
  /** Labels of attempt and item. */
  readonly attemptLabel: string;
  readonly itemLabel: string;
}

/** `digest` is `sha256:<hex>`. */
export interface ArtifactRef {
  readonly name: string;
  readonly digest?: string;
  readonly sizeBytes?: number;
  /** `tar.gz`. Absent for a plain file. */
  readonly archive?: string;
  readonly url?: string;
}

/** A run of any dialect, as every face shows it. `phase` is the engine's word, `nativePhase` the dialect's. */
export interface RunView extends Explained, Timed {
  readonly ref: ObjectRef;
  readonly dialect: Dialect;
  readonly name: string;
  /** What people call it, where its name is a number. */
  readonly title?: string;
  readonly phase: RunPhase;
  readonly nativePhase: string;
  readonly number?: number;
  readonly createdAt: Instant;
  readonly deadlineAt?: Instant;
  readonly progress: Progress;
  /** In topological order, final steps last. */
  readonly steps: readonly StepView[];
  readonly parent?: ObjectRef;
  readonly children: readonly ObjectRef[];
  readonly actions: readonly ActionName[];
}

export interface Progress {
  readonly done: number;
  readonly total: number;
}

/** Why a child does not run, in the words of its runtime. */
export interface HoldUp {
  readonly reason: string;
  readonly message: string;
  /** Waiting does not help. */
  readonly needsHelp: boolean;
}

/** An attempt that has failed, after which another one was made. */
export interface FailedAttempt extends Explained, Timed {
  readonly attempt: number;
}

export interface StepView extends Explained, Timed {
  /** Full id: `group/sub` for nested steps. */
  readonly id: string;
  readonly name: string;
  readonly group?: string;
  readonly final?: boolean;
  readonly phase: StepPhase;
  readonly nativePhase?: string;
  /** Full ids. */
  readonly dependencies: readonly string[];
  readonly waitingFor: readonly string[];
  /** Longest path from a root. */
  readonly rank: number;
  readonly attempt: number;
  /** Absent if unlimited or unknown. */
  readonly attempts?: number;
  readonly notBefore?: Instant;
  /** When the current attempt began, if it is not the first. */
  readonly attemptAt?: Instant;
  /** Attempts before the current one, the oldest first, as far as they are remembered. */
  readonly earlier?: readonly FailedAttempt[];
  /** Known only if children were looked at. */
  readonly holdUp?: HoldUp;
  readonly child?: ObjectRef;
  readonly logs: readonly LogRef[];
  readonly artifacts: readonly ArtifactRef[];
  /** Round of a loop, from the second on. */
  readonly iteration?: number;
  /** Run-length coded: `120S1F4R875P`. */
  readonly items?: Pick<ItemsState, "total" | "states" | "failures">;
  readonly outputs?: JsonObject;
  readonly actions: readonly ActionName[];
}

/** Kinds whose objects are runs, and their views. */
export interface RunDialect<T> {
  readonly kinds: readonly GroupKind[];
  view(object: T, children: readonly unknown[]): RunView;
}
