import type { Cancel, Instant, Millis } from "#lib/base/index.ts";
import type { Rotation } from "#kernel/logs/index.ts";

/** A host directory or file that a task sees at `target`. */
export interface TaskMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * One process (or container) to run once. `id` names this one execution for ever: starting it again, by whoever, after
 * whatever crash, never runs it a second time.
 */
export interface Task {
  readonly id: string;
  /** Program and arguments; no shell is involved unless the command is one. The program is looked up in the PATH of `env`. */
  readonly command: readonly [string, ...string[]];
  /** The whole environment. Nothing is inherited. May hold secrets: runtimes never write it anywhere. */
  readonly env: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  /** Where output goes, in the format of `#kernel/logs`. The file appears with the first output. */
  readonly logPath: string;
  readonly logRotation?: Rotation;
  readonly mounts?: readonly TaskMount[];
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** How a task ended. */
export type TaskOutcome =
  | {
      /** It ran and ended by itself or by a signal; `code` is then 128 + the signal's number. */
      readonly kind: "exited";
      readonly code: number;
      readonly signal?: string;
      readonly startedAt: Instant;
      readonly finishedAt: Instant;
      /** Something besides the exit that people should know, for instance that output could not be written. */
      readonly note?: string;
    }
  | {
      /** It never ran. `code` as a shell would say: 127 not found, 126 not executable, 128 anything else. */
      readonly kind: "not-started";
      readonly code: number;
      readonly message: string;
      readonly finishedAt: Instant;
    }
  | {
      /** It was started, or may have been, and nobody knows how it ended. It is not running any more. */
      readonly kind: "lost";
      readonly message: string;
      readonly startedAt?: Instant;
      readonly finishedAt: Instant;
    };

export type TaskState =
  | { readonly phase: "starting" }
  | { readonly phase: "running"; readonly startedAt: Instant; readonly pid?: number }
  | { readonly phase: "ended"; readonly outcome: TaskOutcome };

export interface TaskStatus {
  readonly id: string;
  readonly state: TaskState;
}

/** What a runtime can do for a task. Who asks for more is refused by name before anything starts. */
export interface RuntimeCapabilities {
  /** Runs what the container image holds; otherwise the image is only recorded. */
  readonly images: boolean;
  /** Can show files at other paths (`Task.mounts`). `reason` says why not. */
  readonly mounts: { readonly supported: true } | { readonly supported: false; readonly reason: string };
  /** Can run as another user (`Task.user`). */
  readonly users: boolean;
  /** Can enforce resource limits. */
  readonly limits: boolean;
}

/**
 * Runs tasks and remembers them until they are removed, across crashes of whoever uses it.
 *
 * A status that was reported is durable: it is reported again after any crash. Listeners are called for every change, in
 * order per task, also for changes that happened while nobody was attached; they must not throw. When the runtime itself
 * fails, calls reject with a SlipwayError and may be repeated.
 */
export interface Runtime {
  readonly name: string;
  capabilities(): Promise<RuntimeCapabilities>;
  /** Resolves once the task runs or has ended; for a known id with its present status, starting nothing. */
  start(task: Task): Promise<TaskStatus>;
  /**
   * Asks the task's processes to end (TERM), and ends them (KILL) when `grace` is over. Resolves when the request is accepted;
   * the end itself is an event. A shorter grace of a later call counts; unknown and ended tasks are no error.
   */
  stop(id: string, grace: Millis): Promise<void>;
  list(): Promise<readonly TaskStatus[]>;
  /** The present status, without waiting; undefined for an unknown task or while the first attachment is under way. */
  find(id: string): TaskStatus | undefined;
  /** Forgets ended tasks: from then on their ids are unknown. Running ones are kept. */
  remove(ids: readonly string[]): Promise<void>;
  subscribe(listener: (status: TaskStatus) => void): Cancel;
  /** Lets go. Tasks go on, unless `stopTasks` gives them a grace to end in. */
  close(options?: { readonly stopTasks?: Millis }): Promise<void>;
}

export const hasEnded = (status: TaskStatus): boolean => status.state.phase === "ended";
