import type { Cancel, Instant, Millis } from "#lib/base/index.ts";
import type { Rotation } from "#kernel/logs/index.ts";
import type { Interaction, InteractionOptions } from "./interaction.ts";

/** A host directory or file that a task sees at `target`. Both paths are absolute; later mounts may lie inside of earlier ones. */
export interface TaskMount {
  /** Must exist when the task is started. */
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/**
 * One process (or container) to run once. `id` names this one execution for ever: starting it again, by whoever, after
 * whatever crash, never runs it a second time.
 */
export interface Task {
  /** `<pod uid>/<container>/<restart>` where pods are run; any text that is never used twice. */
  readonly id: string;
  /** Program and arguments; no shell is involved unless the command is one. The program is looked up in the PATH of `env`. */
  readonly command: readonly [string, ...string[]];
  /** The whole environment. Nothing is inherited. May hold secrets: runtimes never write it anywhere. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, and inside of what the mounts show. It is entered before the task becomes its user. */
  readonly workingDirectory: string;
  /** Where output goes, in the format of `#kernel/logs`. The file appears with the first output. */
  readonly logPath: string;
  /** 10 MiB x 5 when absent. */
  readonly logRotation?: Rotation;
  /** Names of variables of `env` whose values do not get into the log. Those that `env` does not have say nothing. */
  readonly maskedVariables?: readonly string[];
  /**
   * Where the task's last word is to be read once its end is told: what it has written to `unmaskedWord` of this path, without the values
   * of `maskedVariables`. It is not there when the task is lost, because nobody knows the values then.
   */
  readonly message?: string;
  readonly mounts?: readonly TaskMount[];
  /** Whom the process runs as, with this one group and no others; as the runtime itself when absent. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /**
   * What the task is where the runtime has images: a container. Then `command` only names it to people, `env` is added to the
   * image's own variables, and `workingDirectory` and `user` are those of this setup.
   */
  readonly container?: ContainerSetup;
}

/** How a task ended. Messages and notes are sentences for people; they never hold the task's command or environment. */
export type TaskOutcome =
  | {
      /** It ran and ended by itself or by a signal; `code` is then 128 + the signal's number. */
      readonly kind: "exited";
      readonly code: number;
      /** `SIGKILL` and the like; absent when it ended by itself, also where its code is above 128. */
      readonly signal?: string;
      readonly startedAt: Instant;
      /** Of its first process; output may have been written until a second later. */
      readonly finishedAt: Instant;
      /** Something besides the exit that people should know, for instance that output could not be written. */
      readonly note?: string;
      /** The kernel killed it for its use of memory. */
      readonly outOfMemory?: true;
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

/** Phases only ever go forward; `ended` is for ever. */
export type TaskState =
  /** Accepted. Nothing is known yet, and it may be running. */
  | { readonly phase: "starting" }
  | { readonly phase: "running"; readonly startedAt: Instant; readonly pid?: number }
  | { readonly phase: "ended"; readonly outcome: TaskOutcome };

/** A task as it stands. Frozen data: a change is another object. */
export interface TaskStatus {
  readonly id: string;
  readonly state: TaskState;
}

/** How a container is made. All of it is in Kubernetes' words, already resolved: no references, no quantities. */
export interface ContainerSetup {
  /** Of `ContainerHost.findImage` or `pull`: it must be there. */
  readonly image: string;
  /** Of an open sandbox. */
  readonly sandbox: string;
  /** The image's entry point when absent. */
  readonly command?: readonly string[];
  /** The image's command when both are absent; none when only `command` is given. */
  readonly args?: readonly string[];
  /** The image's when absent. */
  readonly workingDirectory?: string;
  /** `1000` or `1000:1000`; the image's when absent. */
  readonly user?: string;
  /** Numbers of groups besides the user's own. */
  readonly groups: readonly number[];
  /** Memory volumes of the sandbox and where they are seen. */
  readonly memoryMounts: readonly { readonly volume: string; readonly target: string; readonly readOnly: boolean }[];
  readonly limits: ContainerLimits;
  readonly readOnlyRoot: boolean;
  readonly addedCapabilities: readonly string[];
  readonly droppedCapabilities: readonly string[];
  /** False: no program gains rights by a set-user-id bit or the like. */
  readonly mayGainRights: boolean;
  /** False: without the engine's filter of system calls. */
  readonly filtersCalls: boolean;
  /** True: root on this machine, its devices included. Only where the server permits it. */
  readonly isPrivileged: boolean;
}

/** What the kernel enforces; absent is unlimited. */
export interface ContainerLimits {
  /** Swap is never given on top. */
  readonly memoryBytes?: number;
  /** 1.5 is one and a half processors. */
  readonly cpus?: number;
  /** A weight among containers that want more than there is: 1024 for each processor asked for. */
  readonly cpuShares?: number;
}

/** What the containers of one pod share: a network address with its names, and volumes in memory. */
export interface Sandbox {
  /** The pod's uid. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly hostname: string;
  /** On the machine's own network: then it has no address and no names of its own. */
  readonly hostNetwork: boolean;
  /** Names under which other sandboxes of this server reach it, also before anything runs in it. */
  readonly names: readonly string[];
  /** Domains that short names are looked for in. */
  readonly searches: readonly string[];
  /** Further lines of its hosts file. */
  readonly hosts: readonly { readonly name: string; readonly address: string }[];
  /** Ports of the machine that lead into it. `address` is all of the machine's when absent. */
  readonly ports: readonly {
    readonly port: number;
    readonly hostPort: number;
    readonly protocol: "tcp" | "udp" | "sctp";
    readonly address?: string;
  }[];
  readonly sysctls: Readonly<Record<string, string>>;
  readonly memoryVolumes: readonly { readonly name: string; readonly sizeBytes?: number }[];
  /** Its containers see each other's processes. */
  readonly sharesProcesses: boolean;
}

/** An image that is there. */
export interface ImageFacts {
  /** Names these very bytes: `sha256:…`. */
  readonly id: string;
  /** `repository@sha256:…` when it came from a registry, else the id. */
  readonly digest: string;
  /** As the image says: a name, a number, either with a group; empty is root. */
  readonly user: string;
}

/** Who may pull. An identity token stands in place of name and password. */
export interface RegistryLogin {
  readonly server: string;
  readonly username?: string;
  readonly password?: string;
  readonly identityToken?: string;
}

/** How a command inside of a container ended. Output is of both streams, its beginning only. */
export interface ExecResult {
  readonly code: number;
  readonly output: string;
}

/**
 * What runtimes with images do besides running tasks. Sandboxes and images belong to no task: who opens a sandbox closes it, after
 * its tasks were removed.
 */
export interface ContainerHost {
  /** Of the engine, as it says itself. */
  readonly version: string;
  /** Makes the sandbox, or finds it and starts it again. Resolves once tasks can be started in it, with its address. */
  openSandbox(sandbox: Sandbox): Promise<string | undefined>;
  /** The address it has now; undefined while it is not open, and on the machine's network. */
  addressOf(id: string): string | undefined;
  /** All that were not closed, of this server, also from before a crash. */
  sandboxes(): Promise<readonly string[]>;
  /** Gives it other names than those it was opened with. Its address stays. Unknown ids are no error. */
  rename(id: string, names: readonly string[]): Promise<void>;
  /** Removes it with its volumes and whatever is still left in it. Unknown ids are no error. */
  closeSandbox(id: string): Promise<void>;
  /** The machine as sandboxes see it; undefined while none was opened. */
  readonly hostAddress: string | undefined;
  /** An image that needs no pulling; undefined when it is not there. */
  findImage(image: string): Promise<ImageFacts | undefined>;
  /** Fetches an image from its registry, trying the logins in turn, without any when there are none. Rejects with `image-pull`. */
  pull(image: string, logins: readonly RegistryLogin[], signal: AbortSignal): Promise<ImageFacts>;
  /**
   * Runs a command in a running task, beside its own. Rejects when it could not be run, with the signal's reason when that aborts;
   * what was begun then goes on in there.
   */
  exec(task: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
  /** The same for somebody who holds the command's streams. */
  interact(task: string, command: readonly string[], options: InteractionOptions): Promise<Interaction>;
}

/** What a runtime can do for a task. Who asks for more is refused by name before anything starts. */
export interface RuntimeCapabilities {
  /** Runs what the container image holds; otherwise the image is only recorded. */
  readonly images: boolean;
  /** Can show files at other paths (`Task.mounts`). `reason` says why not. */
  readonly mounts: { readonly supported: true } | { readonly supported: false; readonly reason: string };
  /** Can run as another user (`Task.user`). */
  readonly users: boolean;
  /** Can enforce resource limits. Requests have no meaning on one machine and are never refused. */
  readonly limits: boolean;
}

/**
 * Runs tasks and remembers them until they are removed, across crashes of whoever uses it.
 *
 * A status that was reported is durable: it is reported again after any crash. Listeners are called for every change, in
 * order per task, also for changes that happened while nobody was attached; they must not throw. When the runtime itself
 * fails, calls reject with a SlipwayError and may be repeated.
 *
 * `runtime.contract.ts` holds these sentences as tests, which every implementation passes.
 */
export interface Runtime {
  /** `process`, `fake`, …: what people are told, and the scheme of container ids. */
  readonly name: string;
  /** Present where tasks are containers, and only there. */
  readonly containers?: ContainerHost;
  /**
   * Runs a command made as a task is (files, variables, user, working directory), without being one: `id`, `logPath` and what belongs
   * to logs have no meaning. Resolves once it runs or could not be run. Absent where tasks are containers, whose host does it.
   */
  interact?(task: Task, options: InteractionOptions): Promise<Interaction>;
  /** The same for the life of the runtime. */
  capabilities(): Promise<RuntimeCapabilities>;
  /** Resolves once the task runs or has ended; for a known id with its present status, starting nothing. */
  start(task: Task): Promise<TaskStatus>;
  /**
   * Asks the task's processes to end (TERM), and ends them (KILL) when `grace` is over. Resolves when the request is accepted;
   * the end itself is an event. A later call can only bring the end closer; unknown and ended tasks are no error.
   */
  stop(id: string, grace: Millis): Promise<void>;
  /**
   * All tasks that were not removed, or those of one owner, which is what their ids say before the first slash; that costs what it
   * finds. Resolves once the runtime is attached: what it does not name then does not exist.
   */
  list(owner?: string): Promise<readonly TaskStatus[]>;
  /** The present status, without waiting; undefined for an unknown task or while the first attachment is under way. */
  find(id: string): TaskStatus | undefined;
  /** Forgets ended tasks: from then on their ids are unknown. Running ones are kept. */
  remove(ids: readonly string[]): Promise<void>;
  /** Tells of changes from now on; what is known already is asked with `find`. */
  subscribe(listener: (status: TaskStatus) => void): Cancel;
  /**
   * What keeps the runtime from answering, for health checks; undefined while it answers. Never waits: the first call after something
   * has gone wrong may not know of it yet, but makes sure that a later one does. Absent where nothing can be away.
   */
  trouble?(): string | undefined;
  /** Lets go. Tasks go on, unless `stopTasks` gives them a grace to end in. */
  close(options?: { readonly stopTasks?: Millis }): Promise<void>;
}

/** Its outcome is known and will not change. */
export const hasEnded = (status: TaskStatus): boolean => status.state.phase === "ended";
