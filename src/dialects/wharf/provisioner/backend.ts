import type { Owner } from "#lib/base/index.node.ts";
import type { Instant } from "#lib/base/index.ts";
import type { StepStatus } from "../results/build-document.ts";
import type { WorkerRequest } from "./parameters.ts";

/** Which worker is meant: the name says where it is found, the uid that it is not an earlier one of that name. */
export interface WorkerIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What there is of a worker. */
export interface Observed {
  /**
   * - absent: nothing was ever started.
   * - starting: its program is there, its build is not yet.
   * - running: its build is on its way.
   * - finished: nothing is added to its results any more, which can be read.
   */
  readonly phase: "absent" | "starting" | "running" | "finished";
  /** There is a program to be ended. */
  readonly isAlive: boolean;
  readonly status: StepStatus | "Unknown";
  /** Where its results are served, `host:port`. */
  readonly address?: string | undefined;
  readonly finishedAt?: Instant | undefined;
  readonly message?: string | undefined;
  /** Of a process of a host. */
  readonly process?: Owner | undefined;
  /** Of a container or Pod: the id that its runtime has given it. */
  readonly runtimeId?: string | undefined;
}

/** It was started, whatever has become of it since. */
export const wasStarted = ({ process, runtimeId }: Pick<Observed, "process" | "runtimeId">): boolean =>
  process !== undefined || (runtimeId ?? "") !== "";

/** How to end a worker: its build, its program politely, its program at once. */
export type Ending = "cancel" | "terminate" | "kill";

/**
 * What runs workers. All of it may be called again after any crash, with what is stored about a worker and nothing else; never for one
 * worker twice at once.
 */
export interface WorkerBackend {
  readonly name: "host" | "docker" | "kubernetes";
  /**
   * Starts a worker unless one was started for this identity before, however that ended. Rejects with `worker-refused` when its runtime will
   * never start it, and with everything else when that may pass.
   */
  start(worker: WorkerIdentity, request: WorkerRequest): Promise<void>;
  /** Looks; and when the program has gone, closes its results and serves them itself. */
  observe(worker: WorkerIdentity): Promise<Observed>;
  /** Begins to end it; returns without waiting for the end. */
  end(worker: WorkerIdentity, how: Ending): Promise<void>;
  /** Removes everything that is left of a worker without a program. */
  remove(worker: WorkerIdentity): Promise<void>;
  /**
   * Removes what belongs to none of those that are kept: workers whose resources have gone without us. Looks at what there is before it asks,
   * so that one that begins meanwhile is kept.
   */
  sweep(kept: () => readonly WorkerIdentity[]): Promise<void>;
  /** Lets go of all workers, which go on. */
  close(): Promise<void>;
}
