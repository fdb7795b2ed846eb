import type { Instant, JsonValue, Millis } from "#lib/base/index.ts";
import type { ChildState, StepPhase, WaitReason } from "#engine/index.ts";
import type { Stored, Writer } from "#kernel/model/index.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import type { ExecutedType } from "../compile/step-source.ts";
import type { RunValues } from "../compile/values.ts";
import type { ChildReference, Workflow } from "../kinds.ts";

export interface Attempt {
  readonly workflow: Stored<Workflow>;
  readonly compiled: CompiledWorkflow;
  readonly step: CompiledStep;
  /** From 1; for an item, its own. */
  readonly number: number;
  /** Attempt of the step; differs from `number` in a fan-out. */
  readonly round: number;
  /** The item of a fan-out. */
  readonly item?: { readonly index: number; readonly value: JsonValue };
  readonly iteration?: number;
  /** As stored: `Starting` and `Cancelling` are intents. */
  readonly phase: StepPhase;
  /** The child in the status; with its uid once it was seen. */
  readonly reference: ChildReference | undefined;
  readonly values: RunValues;
  /** When the step left Pending. */
  readonly since: Instant;
  readonly now: Instant;
}

/** Result of a start or look. The reference is stored in the step's status. */
export type Finding =
  /** `cacheKey`: where the child's result is to be stored. `writers`: whom a child Workflow acts for. */
  | {
      readonly is: "child";
      readonly state: ChildState;
      readonly reference?: ChildReference;
      readonly cacheKey?: string;
      readonly writers?: readonly Writer[];
    }
  /** It cannot start now; nothing exists and no attempt is lost. */
  | { readonly is: "refused"; readonly reason: WaitReason; readonly message: string }
  /** The obstacle is gone. */
  | { readonly is: "free" };

/** Runs one type of step, perhaps repeatedly, so it must find its earlier work. Throwing means: retry later. */
export interface StepExecutor {
  /** The attempt's object, as far as known. Stored with the intent. */
  reference(attempt: Attempt): ChildReference | undefined;
  /** Starts the attempt. Returns what is known at once. */
  start(attempt: Attempt, signal: AbortSignal): Promise<Finding | undefined>;
  /** Observes the attempt without side effects; undefined if nothing is known. */
  observe(attempt: Attempt, signal: AbortSignal): Promise<Finding | undefined>;
  /** Ends the attempt; its end is then observed. */
  cancel(attempt: Attempt, graceMs: Millis, signal: AbortSignal): Promise<void>;
}

export type Executors = Readonly<Record<ExecutedType, StepExecutor>>;
