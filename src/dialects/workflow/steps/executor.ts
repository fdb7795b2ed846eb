import type { Instant, JsonValue, Millis } from "#lib/base/index.ts";
import type { ChildState, StepPhase, WaitReason } from "#engine/index.ts";
import type { Stored, Writer } from "#kernel/model/index.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import type { ExecutedType } from "../compile/step-source.ts";
import type { RunValues } from "../compile/values.ts";
import type { ChildReference, Workflow } from "../kinds.ts";

/** One attempt of one step, as its executor sees it. */
export interface Attempt {
  readonly workflow: Stored<Workflow>;
  readonly compiled: CompiledWorkflow;
  readonly step: CompiledStep;
  /** Counts from 1; of an item of a fan-out, the item's own. */
  readonly number: number;
  /** Attempt of the step; another number than `number` where the step fans out. */
  readonly round: number;
  /** Which item of a fan-out it is for. */
  readonly item?: { readonly index: number; readonly value: JsonValue };
  /** Round of the loop, where the step is one. */
  readonly iteration?: number;
  /** As stored: `Starting` is the intent, `Cancelling` the wish for an end. */
  readonly phase: StepPhase;
  /** What the status says of the child; its uid once it was seen. */
  readonly reference: ChildReference | undefined;
  readonly values: RunValues;
  /** When the step left Pending. */
  readonly since: Instant;
  readonly now: Instant;
}

/** What starting an attempt, or looking at it, has shown. The reference is stored in the status of the step. */
export type Finding =
  /** `cacheKey`: what the child says that its result is to be stored as. `writers`: of a child Workflow, everybody it acts for. */
  | {
      readonly is: "child";
      readonly state: ChildState;
      readonly reference?: ChildReference;
      readonly cacheKey?: string;
      readonly writers?: readonly Writer[];
    }
  /** The world does not let it start; nothing exists, and no attempt is lost. */
  | { readonly is: "refused"; readonly reason: WaitReason; readonly message: string }
  /** What it was refused for is over. */
  | { readonly is: "free" };

/**
 * Carries out one type of step. Called only for attempts whose intent is stored; may be called again for the same attempt at
 * any time, after a crash too, and must then find what it did before. Throwing means: try again later.
 */
export interface StepExecutor {
  /** The object this attempt is or will be, as far as it can be told before it exists. It is stored with the intent. */
  reference(attempt: Attempt): ChildReference | undefined;
  /** Begins the attempt. Answers with what is known at once, if anything. */
  start(attempt: Attempt, signal: AbortSignal): Promise<Finding | undefined>;
  /** How the attempt stands, read without side effects; undefined when nothing can be told yet. */
  observe(attempt: Attempt, signal: AbortSignal): Promise<Finding | undefined>;
  /** Ends the attempt; its end is then observed. */
  cancel(attempt: Attempt, graceMs: Millis, signal: AbortSignal): Promise<void>;
}

/** Who carries out which type. */
export type Executors = Readonly<Record<ExecutedType, StepExecutor>>;
