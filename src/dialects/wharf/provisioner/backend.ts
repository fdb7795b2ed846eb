import type { Owner } from "#lib/base/index.node.ts";
import type { Instant } from "#lib/base/index.ts";
import type { StepStatus } from "../results/build-document.ts";
import type { WorkerRequest } from "./parameters.ts";

/** The uid distinguishes workers of one name. */
export interface WorkerIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface Observed {
  /** absent: never started. starting: no build yet. running. finished: its results are frozen and readable. */
  readonly phase: "absent" | "starting" | "running" | "finished";
  readonly isAlive: boolean;
  readonly status: StepStatus | "Unknown";
  readonly address?: string | undefined;
  readonly finishedAt?: Instant | undefined;
  readonly message?: string | undefined;
  readonly process?: Owner | undefined;
  readonly runtimeId?: string | undefined;
}

export const wasStarted = ({ process, runtimeId }: Pick<Observed, "process" | "runtimeId">): boolean =>
  process !== undefined || (runtimeId ?? "") !== "";

export type Ending = "cancel" | "terminate" | "kill";

/** Runs workers. Methods can be repeated after a crash and need only what is stored; never two at once for one worker.
 */
export interface WorkerBackend {
  readonly name: "host" | "docker" | "kubernetes";
  /** Starts a worker unless it was ever started. Rejects with `worker-refused` if it will never start; other errors are
   * transient. */
  start(worker: WorkerIdentity, request: WorkerRequest): Promise<void>;
  /** Also seals and serves the results of a dead program. */
  observe(worker: WorkerIdentity): Promise<Observed>;
  /** Returns before the end. */
  end(worker: WorkerIdentity, how: Ending): Promise<void>;
  remove(worker: WorkerIdentity): Promise<void>;
  /** Removes leftovers of other workers. Lists them before it calls `kept`, so that new workers are kept. */
  sweep(kept: () => readonly WorkerIdentity[]): Promise<void>;
  close(): Promise<void>;
}
