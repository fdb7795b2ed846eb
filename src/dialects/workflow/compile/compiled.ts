import type { JsonObject, JsonValue, Millis } from "#lib/base/index.ts";
import type { Plan } from "#engine/index.ts";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";
import type { ArtifactWish } from "#kernel/artifacts/index.ts";
import type { CompiledInput } from "./artifacts.ts";
import type { CompiledExpression, CompiledTemplate } from "./expressions.ts";
import type { ExpiringStep } from "./expiring.ts";
import type { StepType } from "./step-source.ts";

/** A declared output of a step. Without expression: the key of this name of what the step wrote. */
export interface CompiledOutput {
  readonly name: string;
  readonly expression: CompiledExpression | undefined;
  readonly default: JsonValue | undefined;
}

/**
 * What decides that the object of a step is done, when the step says so itself. Of the expressions at least one
 * exists; `failure` is asked first.
 */
export type CompiledCompletion =
  | { readonly is: "Created" | "Ready" }
  | {
      readonly is: "expressions";
      readonly success: CompiledExpression | undefined;
      readonly failure: CompiledExpression | undefined;
    };

/** What a step is carried out for, once for each. Either the items are written, or an expression gives them. */
export interface CompiledForEach {
  readonly items: readonly JsonValue[] | CompiledExpression;
  /** Items for which it is false are skipped. */
  readonly when: CompiledExpression | undefined;
  /** More items than this fail the step. */
  readonly limit: number;
  readonly maxParallel?: number;
  readonly failFast: boolean;
}

/** One step, checked and ready to be run. Immutable. `step` has the workflow's `stepDefaults` filled in. */
export interface CompiledStep {
  readonly key: string;
  /** Part of `finally`. */
  readonly final: boolean;
  readonly type: StepType;
  readonly step: WorkflowStep;
  /**
   * Identifies the definition as it was written, 16 characters of base32; the same for members in another order.
   * Stored as `templateHash` when the step starts, and compared with later edits. Computed when first asked for.
   */
  hash(): string;
  /** Undefined: the default gate, all dependencies ok. */
  readonly when: CompiledExpression | undefined;
  /** The union member itself with its `${{ }}`. */
  readonly body: CompiledTemplate | undefined;
  /** Of a timer whose `until` is no instant. */
  readonly until: CompiledExpression | undefined;
  readonly outputs: readonly CompiledOutput[];
  /** Artifacts the step takes, and those it leaves. */
  readonly takes: readonly CompiledInput[];
  readonly leaves: readonly ArtifactWish[];
  /** `retry.expression`. */
  readonly retryWhen: CompiledExpression | undefined;
  readonly completion: CompiledCompletion | undefined;
  readonly forEach: CompiledForEach | undefined;
  /** `repeat.until`. */
  readonly repeatUntil: CompiledExpression | undefined;
  readonly cache: CompiledCache | undefined;
  /** The names of its locks, where any of them has an expression. */
  readonly locks: CompiledTemplate | undefined;
}

/** That an earlier result may stand for the step's own. */
export interface CompiledCache {
  /** Absent: what the step is carried out with names its result. */
  readonly key: CompiledTemplate | undefined;
  /** Absent: a result of any age. */
  readonly maxAge: Millis | undefined;
}

/** An output of the workflow. */
export interface WorkflowOutput {
  readonly name: string;
  readonly expression: CompiledExpression;
}

/** At most so many workflows with one key at once. */
export interface CompiledConcurrency {
  /** The key with its `${{ }}`. */
  readonly key: CompiledTemplate;
  readonly most: number;
  readonly onConflict: "Queue" | "CancelRunning" | "CancelNew";
}

/** What expressions see of the workflow itself; with it a compiled workflow is told from that of another object. */
export interface Identity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: JsonObject;
  /** The time of the schedule that the run was made for. */
  readonly scheduledAt: string;
}

/**
 * A workflow, checked and ready to be run. Immutable; valid for one generation of one object, because expressions
 * know its name and its labels.
 */
export interface CompiledWorkflow {
  /** What it was compiled from, with the template's steps where it refers to one. */
  readonly spec: WorkflowSpec;
  readonly plan: Plan;
  readonly steps: ReadonlyMap<string, CompiledStep>;
  readonly outputs: readonly WorkflowOutput[];
  readonly concurrency: CompiledConcurrency | undefined;
  /** Arguments over defaults; a parameter with neither is absent. */
  readonly params: JsonObject;
  readonly identity: Identity;
  /** Steps whose finished Jobs are deleted after a while. */
  readonly expiring: readonly ExpiringStep[];
  /** Labels of `spec.selector`, which every child gets. */
  readonly selector: Readonly<Record<string, string>>;
}
