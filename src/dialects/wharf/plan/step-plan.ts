import type { RunsIf } from "../definition/definition.ts";
import type { StepType } from "../definition/step-fields.ts";

/** A build as data: what every runtime carries out, and `--dry-run` shows. Values are substituted and may hold secrets. */
export interface BuildPlan {
  readonly stages: readonly StagePlan[];
}

/** A stage begins when all steps of the one before it have ended. */
export interface StagePlan {
  /** From 1, over the stages that are selected. */
  readonly stageId: number;
  readonly name: string;
  /** Looked at when the stage would begin. */
  readonly runsIf: RunsIf;
  readonly steps: readonly StepPlan[];
}

/** What one step runs, whatever runs it. */
export interface StepPlan {
  /** From 1, over all steps of the selected stages. */
  readonly stepId: number;
  /** Names as they are written, steps with their variables. */
  readonly stage: string;
  readonly step: string;
  readonly type: StepType;
  /** As a registry knows it; a runtime without images leaves it out of account. */
  readonly image: string;
  /** Absent: the image's own. */
  readonly entry?: readonly string[];
  /** What the entry is given; none of it is read by a shell but by those that the entry names. */
  readonly args: readonly string[];
  /** Where the repository is. */
  readonly workdir: string;
  /** Those of the step before those that all steps have. */
  readonly env: readonly EnvEntry[];
  /** Secrets all of whose keys are environment variables. */
  readonly envFrom: readonly SecretName[];
  /** What is put into the file system of the step, besides the repository. */
  readonly mounts: readonly Mount[];
  /** Absent: the runtime's own. */
  readonly serviceAccount?: string;
  /** What Kubernetes means by it; a runtime may be told otherwise as a whole. */
  readonly pullPolicy: "Always" | "IfNotPresent";
  readonly os: "linux" | "windows";
  /** How the copy of the repository is different from the project directory. */
  readonly repo: { readonly overlay: readonly Overlay[] };
  /** Globs of files to keep beside those that the step leaves in its artifacts directory. */
  readonly artifacts: readonly string[];
  /** Globs of files with results of tests. */
  readonly testResults: readonly string[];
  /** After this the step has failed. Absent: no limit of its own. */
  readonly timeoutMs?: number;
}

/** Name of a Secret of the cluster, or of who stands for it. */
export type SecretName = string;

/** A variable of the process: a text, or a key of a secret that only the runtime reads. */
export type EnvEntry =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly secretRef: { readonly name: SecretName; readonly key: string } };

/** Files from a Secret or a ConfigMap, or from whatever stands for one where there is no cluster. */
export interface Mount {
  readonly kind: "configMap" | "secret";
  readonly name: string;
  /** Keys and the files they become; absent: all keys by their own names. */
  readonly items?: Readonly<Record<string, string>>;
  readonly path: string;
  readonly readOnly: true;
}

/** A file of the repository that is different in the step's copy. `path` is relative to the project directory. */
export type Overlay =
  | { readonly path: string; readonly change: "substitute" }
  | { readonly path: string; readonly change: "append"; readonly text: string };
