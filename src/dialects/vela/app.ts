import type { JsonObject, JsonValue, Millis } from "#lib/base/index.ts";

// An application after admission: names are filled in, durations are read. Documents and stored objects become this
// once.

export interface Input {
  /** A variable, or an expression over `context` and `parameter`. */
  readonly from: string;
  /** Empty: the value is only for `if`. */
  readonly parameterKey: string;
}

export interface Output {
  readonly name: string;
  /** A CUE path or expression over the value of the step. */
  readonly valueFrom: string;
}

export interface Trait {
  readonly type: string;
  readonly properties: JsonObject;
}

export interface Component {
  readonly name: string;
  readonly type: string;
  readonly properties: JsonObject;
  readonly traits: readonly Trait[];
  readonly dependsOn: readonly string[];
  readonly inputs: readonly Input[];
  readonly outputs: readonly Output[];
  readonly externalRevision?: string;
  /** Set by the policy `replication`. */
  readonly replicaKey?: string;
}

export interface Policy {
  readonly name: string;
  readonly type: string;
  readonly properties: JsonObject;
}

export type Mode = "StepByStep" | "DAG";

export interface Modes {
  readonly steps: Mode;
  readonly subSteps: Mode;
}

export interface StepRetry {
  readonly limit: number;
  readonly backoff?: { readonly duration: Millis; readonly factor: number; readonly cap: Millis };
}

export interface Step {
  readonly name: string;
  readonly type: string;
  readonly stage: "pre-render" | "post-render";
  readonly alias?: string;
  readonly if?: string;
  readonly timeout?: Millis;
  readonly dependsOn: readonly string[];
  readonly inputs: readonly Input[];
  readonly outputs: readonly Output[];
  readonly properties: JsonObject;
  /** Of a step group. */
  readonly mode?: Mode;
  readonly subSteps: readonly Step[];
  readonly retry?: StepRetry;
}

/** Steps with their sub-steps, in order. */
export const withSubSteps = (steps: readonly Step[]): readonly Step[] =>
  steps.flatMap((step) => [step, ...step.subSteps]);

/** Of an Application or a WorkflowRun. */
export interface VelaWorkflow {
  readonly modes: Modes;
  readonly steps: readonly Step[];
}

/** What all rendering and every step of one application knows. */
export interface AppIdentity {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `my-app-v3`; empty for a WorkflowRun. */
  readonly revision: string;
  readonly revisionNumber: number;
  readonly publishVersion?: string;
  readonly workflowName: string;
  /** The free-form context of a WorkflowRun. */
  readonly custom?: JsonObject;
}

export interface App {
  readonly identity: AppIdentity;
  readonly components: readonly Component[];
  readonly policies: readonly Policy[];
  readonly workflow: VelaWorkflow;
}

export type Variables = Readonly<Record<string, JsonValue>>;
