// The seam between a build and what carries out its steps. A runtime knows one step at a time and nothing of stages, statuses or files of the
// results; the build knows nothing of processes, containers and Pods.

import type { Diagnostic } from "../definition/diagnostics.ts";
import type { Mount, StepPlan } from "../plan/step-plan.ts";
import type { ValuePlace } from "../secrets/find-values.ts";
import type { OverlayFile, Repository } from "../repository/repository.ts";
import type { StepLogWriter } from "../results/step-log-writer.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";

/** Where the steps of one build run. */
export interface StepRuntime {
  readonly name: RuntimeName;
  /** Everything that stands against these steps here, before anything starts: tools that are missing, an engine that does not answer. */
  check(steps: readonly StepPlan[], signal: AbortSignal): Promise<readonly Diagnostic[]>;
  /** As `check`, and what else a build would meet here, such as images that have to be fetched. Changes nothing. */
  preview(steps: readonly StepPlan[], signal: AbortSignal): Promise<readonly Diagnostic[]>;
  /** Runs a step to its end. Resolves for every end, also of a step that failed or was cancelled; rejects only for what is a fault of ours. */
  run(job: StepJob): Promise<StepEnd>;
  /** Whether the runtime itself brings what is to be mounted there; nobody else looks for it then. */
  brings?(mount: Mount): boolean;
  /**
   * Where the runtime itself has secrets and config maps, which steps there get by name. They are read here only for what must not be shown, and
   * never handed to a step. Absent: they are looked for elsewhere and handed over with the step.
   */
  readonly values?: ValuePlace;
  /** Kills at once, in the turn of the call, whatever of the build still runs, and removes what is left of it. */
  close(): Promise<void>;
}

export type RuntimeName = "host" | "docker" | "kubernetes";

/** The project as every step begins with it. */
export type StepRepository = Pick<Repository, "directory" | "copyTo" | "tar">;

/** A Secret or ConfigMap with its files. */
export interface ResolvedMount {
  /** Where the step looks for them, absolute. */
  readonly path: string;
  /** By name of the file. */
  readonly files: ReadonlyMap<string, Buffer>;
}

/** One step, with everything that is known only when it starts. */
export interface StepJob {
  readonly step: StepPlan;
  /** Those of the plan, with their secrets unless the runtime has `values`; it says itself where `WHARF_ARTIFACTS_DIR` is. */
  readonly env: Readonly<Record<string, string>>;
  /** `{results}/work/{stepId}`, made by the caller, removed by the caller. */
  readonly directory: string;
  readonly repository: StepRepository;
  /** What is different in this step's copy of the repository. */
  readonly overlay: readonly OverlayFile[];
  readonly mounts: readonly ResolvedMount[];
  /** Output goes here; when `append` answers false the reader pauses until `drained` has resolved. */
  readonly log: Pick<StepLogWriter, "append" | "drained">;
  /** Aborted when the step is to end: TERM, grace, KILL. The reason says why. */
  readonly signal: AbortSignal;
  readonly graceMs: number;
  /** Called once each, in this order. */
  readonly onPhase: (phase: "Initializing" | "Running") => void;
}

/** How a step ended. */
export interface StepEnd {
  /** Cancelled only when the signal was the cause. */
  readonly status: "Success" | "Failed" | "Cancelled";
  /** Of the program; 128 and the number of the signal that ended it; null when there was no program. */
  readonly exitCode: number | null;
  /** For programs (`ExitCode`, `NotFound`, `NotExecutable`, `OutOfMemory`, `Signal`, `ImagePull`, `RuntimeLost`, …); absent for success. */
  readonly reason?: string;
  readonly message?: string;
  /** What the step left: read once, after its end. */
  readonly artifacts?: AsyncIterable<ArtifactSource>;
}
