import type { Cancel, Instant, Millis } from "#lib/base/index.ts";
import type { Rotation } from "#kernel/streams/index.ts";
import type { Interaction, InteractionOptions } from "./interaction.ts";

/** A host directory or file shown at `target`. Both paths are absolute; later mounts may be inside earlier ones. */
export interface TaskMount {
  /** Must exist when the task is started. */
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** One process or container to run once. `id` names this one execution for ever: it never runs a second time. */
export interface Task {
  /** `<pod uid>/<container>/<restart>` for pods; any unique text. */
  readonly id: string;
  /** Without a shell. The program is looked up in the PATH of `env`. */
  readonly command: readonly [string, ...string[]];
  /** The whole environment; nothing is inherited. May hold secrets: runtimes never write it anywhere. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, as the mounts show it. Entered before the task becomes its user. */
  readonly workingDirectory: string;
  /** In the format of `#kernel/streams`. The file appears with the first output. */
  readonly logPath: string;
  /** Default: 10 MiB x 5. */
  readonly logRotation?: Rotation;
  /** Variables whose values are masked in the log; unknown ones are ignored. */
  readonly maskedVariables?: readonly string[];
  /** Path of the ended task's last word: what it wrote to `unmaskedWord`, masked. Missing if the task is lost. */
  readonly message?: string;
  readonly mounts?: readonly TaskMount[];
  /** Default: the runtime's own user. The process gets this one group. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** For runtimes with images: `command` is for people, `env` is added, `workingDirectory` and `user` are its own. */
  readonly container?: ContainerSetup;
}

/** Messages and notes are for people, and never hold the task's command or environment. */
export type TaskOutcome =
  | {
      /** It ended by itself, or by a signal with code 128 + the signal's number. */
      readonly kind: "exited";
      readonly code: number;
      /** `SIGKILL` and the like; absent if it ended by itself. */
      readonly signal?: string;
      readonly startedAt: Instant;
      /** Of its first process; output may continue for a second. */
      readonly finishedAt: Instant;
      /** For people, for example that output could not be written. */
      readonly note?: string;
      /** The kernel killed it for its use of memory. */
      readonly outOfMemory?: true;
    }
  | {
      /** It never ran. Codes as in a shell: 127 not found, 126 not executable, 128 anything else. */
      readonly kind: "not-started";
      readonly code: number;
      readonly message: string;
      readonly finishedAt: Instant;
    }
  | {
      /** It may have been started, does not run any more, and how it ended is unknown. */
      readonly kind: "lost";
      readonly message: string;
      readonly startedAt?: Instant;
      readonly finishedAt: Instant;
    };

/** Phases only go forward. */
export type TaskState =
  /** Accepted; it may be running. */
  | { readonly phase: "starting" }
  | { readonly phase: "running"; readonly startedAt: Instant; readonly pid?: number }
  | { readonly phase: "ended"; readonly outcome: TaskOutcome };

/** Frozen. */
export interface TaskStatus {
  readonly id: string;
  readonly state: TaskState;
}

/** In Kubernetes' words, resolved: no references, no quantities. */
export interface ContainerSetup {
  /** From `ContainerHost.findImage` or `pull`. */
  readonly image: string;
  /** Of an open sandbox. */
  readonly sandbox: string;
  /** Default: the image's entry point. */
  readonly command?: readonly string[];
  /** Default: the image's command if `command` is absent too, else none. */
  readonly args?: readonly string[];
  /** Default: the image's. */
  readonly workingDirectory?: string;
  /** `1000` or `1000:1000`; default: the image's. */
  readonly user?: string;
  /** Besides the user's own. */
  readonly groups: readonly number[];
  readonly memoryMounts: readonly { readonly volume: string; readonly target: string; readonly readOnly: boolean }[];
  readonly limits: ContainerLimits;
  readonly readOnlyRoot: boolean;
  readonly addedCapabilities: readonly string[];
  readonly droppedCapabilities: readonly string[];
  /** False: set-user-id bits have no effect. */
  readonly mayGainRights: boolean;
  /** False: without the engine's system call filter. */
  readonly filtersCalls: boolean;
  /** Root on this machine, with its devices. Only if the server permits it. */
  readonly isPrivileged: boolean;
}

/** Absent is unlimited. */
export interface ContainerLimits {
  /** Swap is never added. */
  readonly memoryBytes?: number;
  /** 1.5 is one and a half processors. */
  readonly cpus?: number;
  /** A weight under contention: 1024 for each requested processor. */
  readonly cpuShares?: number;
}

/** What the containers of a pod share: a network address with names, and volumes in memory. */
export interface Sandbox {
  /** The pod's uid. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly hostname: string;
  /** Without an address and names of its own. */
  readonly hostNetwork: boolean;
  /** Names for other sandboxes of this server. */
  readonly names: readonly string[];
  /** Search domains of short names. */
  readonly searches: readonly string[];
  /** Further lines of its hosts file. */
  readonly hosts: readonly { readonly name: string; readonly address: string }[];
  /** Host ports. Default of `address`: all of the machine's. */
  readonly ports: readonly {
    readonly port: number;
    readonly hostPort: number;
    readonly protocol: "tcp" | "udp" | "sctp";
    readonly address?: string;
  }[];
  readonly sysctls: Readonly<Record<string, string>>;
  readonly memoryVolumes: readonly { readonly name: string; readonly sizeBytes?: number }[];
  readonly sharesProcesses: boolean;
}

export interface ImageFacts {
  /** Identifies the bytes: `sha256:…`. */
  readonly id: string;
  /** `repository@sha256:…` if it came from a registry, else the id. */
  readonly digest: string;
  /** A name or number, possibly with a group; empty is root. */
  readonly user: string;
}

/** An identity token replaces name and password. */
export interface RegistryLogin {
  readonly server: string;
  readonly username?: string;
  readonly password?: string;
  readonly identityToken?: string;
}

/** Output is the beginning of both streams. */
export interface ExecResult {
  readonly code: number;
  readonly output: string;
}

/** What runtimes with images do besides running tasks. Close a sandbox after removing its tasks. */
export interface ContainerHost {
  readonly version: string;
  /** Creates, finds or restarts the sandbox; resolves with its address when tasks can start in it. */
  openSandbox(sandbox: Sandbox): Promise<string | undefined>;
  /** Undefined if it is not open, or on the machine's network. */
  addressOf(id: string): string | undefined;
  /** All open ones of this server, also from before a crash. */
  sandboxes(): Promise<readonly string[]>;
  /** Changes its names; the address stays. Unknown ids are no error. */
  rename(id: string, names: readonly string[]): Promise<void>;
  /** Removes it with its volumes and containers. Unknown ids are no error. */
  closeSandbox(id: string): Promise<void>;
  /** The machine as sandboxes see it; undefined before the first was opened. */
  readonly hostAddress: string | undefined;
  /** Undefined if the image is not present. */
  findImage(image: string): Promise<ImageFacts | undefined>;
  /** Pulls an image, trying the logins in turn. Rejects with `image-pull`. */
  pull(image: string, logins: readonly RegistryLogin[], signal: AbortSignal): Promise<ImageFacts>;
  /** Runs a command beside a running task. Rejects if it cannot be run, or with the signal's reason, not ending it. */
  exec(task: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
  /** The same with streams. */
  interact(task: string, command: readonly string[], options: InteractionOptions): Promise<Interaction>;
}

/** Tasks that need more are refused before anything starts. */
export interface RuntimeCapabilities {
  /** Runs container images; otherwise images are only recorded. */
  readonly images: boolean;
  /** Supports `Task.mounts`; `reason` says why not. */
  readonly mounts: { readonly supported: true } | { readonly supported: false; readonly reason: string };
  /** Supports `Task.user`. */
  readonly users: boolean;
  /** Enforces resource limits. */
  readonly limits: boolean;
}

/**
 * Runs tasks and remembers them until they are removed, across crashes of its users. A reported status is durable.
 * Listeners hear of every change, in order per task, also of those from before they attached; they must not throw. If
 * the runtime itself fails, calls reject with a SlipwayError and may be repeated. `runtime.contract.ts` tests this for
 * every implementation.
 */
export interface Runtime {
  /** For people, and the scheme of container ids. */
  readonly name: string;
  /** Present if tasks are containers. */
  readonly containers?: ContainerHost;
  /** Runs a command like a task, ignoring `id`, `logPath` and log options. Absent if tasks are containers. */
  interact?(task: Task, options: InteractionOptions): Promise<Interaction>;
  /** The same for the life of the runtime. */
  capabilities(): Promise<RuntimeCapabilities>;
  /** Resolves once the task runs or has ended; returns the status of a known id without starting anything. */
  start(task: Task): Promise<TaskStatus>;
  /** TERM, then KILL after `grace`, which later calls only shorten. Resolves when it begins; ignores ended tasks. */
  stop(id: string, grace: Millis): Promise<void>;
  /** All tasks not removed, or those of one owner (the id before the first slash). Waits until attached. */
  list(owner?: string): Promise<readonly TaskStatus[]>;
  /** Without waiting; undefined for an unknown task, and before the runtime is attached. */
  find(id: string): TaskStatus | undefined;
  /** Forgets ended tasks; running ones are kept. */
  remove(ids: readonly string[]): Promise<void>;
  /** Reports changes from now on. */
  subscribe(listener: (status: TaskStatus) => void): Cancel;
  /** Why the runtime does not answer, for health checks. Never waits: right after a failure it may miss it. */
  trouble?(): string | undefined;
  /** Tasks continue, unless `stopTasks` gives them a grace. */
  close(options?: { readonly stopTasks?: Millis }): Promise<void>;
}

export const hasEnded = (status: TaskStatus): boolean => status.state.phase === "ended";
