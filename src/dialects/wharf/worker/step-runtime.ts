// A runtime runs one step at a time and knows nothing of stages and results.

import type { Diagnostic } from "../definition/diagnostics.ts";
import type { Mount, StepPlan } from "../plan/step-plan.ts";
import type { ValuePlace } from "../secrets/find-values.ts";
import type { Repository } from "../repository/repository.ts";
import type { OverlayFile } from "../repository/entry.ts";
import type { StepLogWriter } from "../results/step-log-writer.ts";
import type { ArtifactSource } from "../results/store-artifact.ts";

export interface StepRuntime {
  readonly name: RuntimeName;
  /** Reports what prevents these steps, such as missing tools, before anything starts. */
  check(steps: readonly StepPlan[], signal: AbortSignal): Promise<readonly Diagnostic[]>;
  /** Like `check`, with further findings such as missing images. Changes nothing. */
  preview(steps: readonly StepPlan[], signal: AbortSignal): Promise<readonly Diagnostic[]>;
  /** Rejects only for internal faults. */
  run(job: StepJob): Promise<StepEnd>;
  /** True if the runtime itself provides this mount. */
  brings?(mount: Mount): boolean;
  /** Secrets and config maps of the runtime, which steps use by name; read here only for masking. If absent, values are
   * passed with the step. */
  readonly values?: ValuePlace;
  /** Kills, synchronously, everything of the build and then removes it. */
  close(): Promise<void>;
}

export type RuntimeName = "host" | "docker" | "kubernetes";

export type StepRepository = Pick<Repository, "directory" | "copyTo" | "tar">;

export interface ResolvedMount {
  readonly path: string;
  readonly files: ReadonlyMap<string, Buffer>;
}

export interface StepJob {
  readonly step: StepPlan;
  /** The plan's variables, with secrets unless the runtime has `values`. */
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly repository: StepRepository;
  readonly overlay: readonly OverlayFile[];
  readonly mounts: readonly ResolvedMount[];
  /** If `append` returns false, wait for `drained` before reading on. */
  readonly log: Pick<StepLogWriter, "append" | "drained">;
  /** Aborted to end the step: SIGTERM, grace period, SIGKILL. */
  readonly signal: AbortSignal;
  readonly graceMs: number;
  readonly onPhase: (phase: "Initializing" | "Running") => void;
}

export interface StepEnd {
  readonly status: "Success" | "Failed" | "Cancelled";
  /** 128 plus the signal's number if killed; null if no program ran. */
  readonly exitCode: number | null;
  /** For programs (`ExitCode`, `NotFound`, `ImagePull`, `RuntimeLost`, …); absent on success. */
  readonly reason?: string;
  readonly message?: string;
  /** Read once, after the end. */
  readonly artifacts?: AsyncIterable<ArtifactSource>;
}
