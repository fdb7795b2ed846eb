import type { RunsIf } from "../definition/definition.ts";
import type { StepType } from "../definition/step-fields.ts";

/** A build as data. Values are substituted and may contain secrets. */
export interface BuildPlan {
  readonly stages: readonly StagePlan[];
}

export interface StagePlan {
  readonly stageId: number;
  readonly name: string;
  /** Evaluated before the stage starts. */
  readonly runsIf: RunsIf;
  readonly steps: readonly StepPlan[];
}

export interface StepPlan {
  readonly stepId: number;
  readonly stage: string;
  readonly step: string;
  readonly type: StepType;
  /** Ignored by runtimes without images. */
  readonly image: string;
  readonly entry?: readonly string[];
  readonly args: readonly string[];
  readonly workdir: string;
  readonly env: readonly EnvEntry[];
  readonly envFrom: readonly SecretName[];
  readonly mounts: readonly Mount[];
  readonly serviceAccount?: string;
  /** As in Kubernetes; a runtime may override it. */
  readonly pullPolicy: "Always" | "IfNotPresent";
  readonly os: "linux" | "windows";
  readonly repo: { readonly overlay: readonly Overlay[] };
  /** Globs of files to keep besides those in the artifacts directory. */
  readonly artifacts: readonly string[];
  readonly testResults: readonly string[];
  readonly timeoutMs?: number;
}

export type SecretName = string;

/** A text, or a key of a secret that only the runtime reads. */
export type EnvEntry =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly secretRef: { readonly name: SecretName; readonly key: string } };

export interface Mount {
  readonly kind: "configMap" | "secret";
  readonly name: string;
  /** Files by key; all keys under their own names if absent. */
  readonly items?: Readonly<Record<string, string>>;
  readonly path: string;
  readonly readOnly: true;
}

/** A changed file in the step's copy of the repository; `path` is relative to the project. */
export type Overlay =
  | { readonly path: string; readonly change: "substitute" }
  | { readonly path: string; readonly change: "append"; readonly text: string };

export interface PlannedParts
  extends Pick<StepPlan, "image" | "args">,
    Partial<Omit<StepPlan, "image" | "args" | "repo">> {
  readonly overlay?: readonly Overlay[];
}
