import type { JsonObject, JsonValue, Millis } from "#lib/base/index.ts";
import type { Plan } from "#engine/index.ts";
import type { WorkflowSpec, WorkflowStep } from "../kinds.ts";
import type { ArtifactWish } from "#kernel/artifacts/index.ts";
import type { CompiledInput } from "./artifacts.ts";
import type { CompiledExpression, CompiledTemplate } from "./expressions.ts";
import type { ExpiringStep } from "./expiring.ts";
import type { StepType } from "./step-source.ts";

/** Without an expression, the key of the same name that the step wrote. */
export interface CompiledOutput {
  readonly name: string;
  readonly expression: CompiledExpression | undefined;
  readonly default: JsonValue | undefined;
}

/** Custom completion: at least one expression; `failure` is evaluated first. */
export type CompiledCompletion =
  | { readonly is: "Created" | "Ready" }
  | {
      readonly is: "expressions";
      readonly success: CompiledExpression | undefined;
      readonly failure: CompiledExpression | undefined;
    };

export interface CompiledForEach {
  readonly items: readonly JsonValue[] | CompiledExpression;
  /** Skips items for which it is false. */
  readonly when: CompiledExpression | undefined;
  readonly limit: number;
  readonly maxParallel?: number;
  readonly failFast: boolean;
}

/** An immutable, validated step. `step` includes the workflow's `stepDefaults`. */
export interface CompiledStep {
  readonly key: string;
  readonly final: boolean;
  readonly type: StepType;
  readonly step: WorkflowStep;
  /** Hash of the written definition, independent of member order; compared with later edits. Lazy. */
  hash(): string;
  /** Undefined: the default gate. */
  readonly when: CompiledExpression | undefined;
  readonly body: CompiledTemplate | undefined;
  readonly until: CompiledExpression | undefined;
  readonly outputs: readonly CompiledOutput[];
  readonly takes: readonly CompiledInput[];
  readonly leaves: readonly ArtifactWish[];
  readonly retryWhen: CompiledExpression | undefined;
  readonly completion: CompiledCompletion | undefined;
  readonly forEach: CompiledForEach | undefined;
  readonly repeatUntil: CompiledExpression | undefined;
  readonly cache: CompiledCache | undefined;
  readonly locks: CompiledTemplate | undefined;
}

export interface CompiledCache {
  /** Absent: the inputs are the key. */
  readonly key: CompiledTemplate | undefined;
  /** Absent: any age. */
  readonly maxAge: Millis | undefined;
}

export interface WorkflowOutput {
  readonly name: string;
  readonly expression: CompiledExpression;
}

export interface CompiledConcurrency {
  readonly key: CompiledTemplate;
  readonly most: number;
  readonly onConflict: "Queue" | "CancelRunning" | "CancelNew";
}

/** What expressions see of the workflow; distinguishes objects with equal specs. */
export interface Identity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels: JsonObject;
  readonly scheduledAt: string;
}

/** An immutable, validated workflow; valid for one generation of one object. */
export interface CompiledWorkflow {
  /** Includes the template's steps, if it refers to one. */
  readonly spec: WorkflowSpec;
  readonly plan: Plan;
  readonly steps: ReadonlyMap<string, CompiledStep>;
  readonly outputs: readonly WorkflowOutput[];
  readonly concurrency: CompiledConcurrency | undefined;
  /** Arguments over defaults; absent if there is neither. */
  readonly params: JsonObject;
  readonly identity: Identity;
  readonly expiring: readonly ExpiringStep[];
  /** Labels of `spec.selector` for every child. */
  readonly selector: Readonly<Record<string, string>>;
}
