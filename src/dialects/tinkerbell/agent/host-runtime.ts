import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock, Millis } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import type { Runtime, Task, TaskOutcome, TaskStatus } from "#kernel/runtimes/index.ts";
import { logRotation } from "../logs/places.ts";
import { masked, maskedNames, withoutMasks } from "../logs/masking.ts";
import { lastErrorLine, remark } from "./action-log.ts";
import type { ActionRuntime, Prepared } from "./action-runtime.ts";
import { endingOf, failed } from "./failure.ts";
import { failureFilesIn, makeFailureFiles, readFailureFiles } from "./failure-files.ts";
import { told } from "./messages.ts";
import { keyOf, logPathOf, removeWork, workDirectoryOf } from "./places.ts";
import type { AgentAction, Ending, Execution } from "./work.ts";

export interface HostRuntimeOptions {
  /** Runs processes that outlive the agent; used by nothing else. */
  readonly processes: Runtime;
  readonly directory: string;
  /** The part of the agent's environment that actions get. */
  readonly inherited: Readonly<Record<"PATH" | "HOME", string>>;
  readonly clock: Clock;
}

/** Runs actions as processes of this machine, for trials: images are ignored. Task ids are execution keys. */
export class HostRuntime implements ActionRuntime {
  readonly #options: HostRuntimeOptions;
  /** A stop waits for starts in progress. */
  readonly #starting = new Map<string, Promise<unknown>>();

  constructor(options: HostRuntimeOptions) {
    this.#options = options;
  }

  /** Creates files and directories only; repeated after a crash it loses nothing. */
  async prepare(execution: Execution): Promise<Prepared> {
    const { directory, clock } = this.#options;
    const { action } = execution;
    if (commandOf(action) === undefined) return failed("RuntimeError", told.needsCommand);
    const place = workDirectoryOf(directory, execution);
    await makeFailureFiles(place);
    await makeDirectories(join(place, "files"), 0o700);
    const ignored = ignoredBy(action);
    if (ignored !== "") await remark(logPathOf(directory, execution), told.ignored(ignored), clock);
    return { is: "prepared", handle: keyOf(execution) };
  }

  /** A repeated start starts nothing: the runner knows the id and returns the task's state. */
  async run(execution: Execution, handle: string): Promise<Ending> {
    const { processes } = this.#options;
    const starting = processes.start(this.#taskOf(execution, handle));
    this.#starting.set(handle, starting);
    try {
      await starting;
    } finally {
      this.#starting.delete(handle);
    }
    const outcome = await this.#ended(handle);
    return this.#endingOf(execution, outcome);
  }

  /** The runner notes a task before it starts, so an unknown one was never started. */
  async isGone(_execution: Execution, handle: string): Promise<boolean> {
    const status = await this.#find(handle);
    return status?.state.phase === "ended" && status.state.outcome.kind === "lost";
  }

  /** Signals the whole process group: children of a shell would go on. */
  async stop(execution: Execution, grace: Millis): Promise<void> {
    const { processes } = this.#options;
    const id = keyOf(execution);
    await this.#starting.get(id)?.catch(() => undefined);
    if ((await this.#find(id)) === undefined) return;
    await processes.stop(id, grace);
    await this.#ended(id);
  }

  /** Keeps the log. */
  async discard(execution: Execution): Promise<void> {
    await this.#options.processes.remove([keyOf(execution)]);
    await rm(workDirectoryOf(this.#options.directory, execution), { recursive: true, force: true });
  }

  async sweep(keep: Execution | undefined): Promise<void> {
    const { processes, directory } = this.#options;
    const kept = keep === undefined ? undefined : keyOf(keep);
    const others = (await processes.list()).map(({ id }) => id).filter((id) => id !== kept);
    await Promise.all(others.map((id) => processes.stop(id, 0)));
    await Promise.all(others.map((id) => this.#ended(id)));
    await processes.remove(others);
    await removeWork(directory, keep);
  }

  /** The list waits for the runner of an earlier process; `find` does not. */
  async #find(id: string): Promise<TaskStatus | undefined> {
    return (await this.#options.processes.list()).find((status) => status.id === id);
  }

  #ended(id: string): Promise<TaskOutcome> {
    const { processes } = this.#options;
    return new Promise((resolve) => {
      const look = (status: TaskStatus | undefined) => {
        if (status?.id !== id || status.state.phase !== "ended") return;
        cancel();
        resolve(status.state.outcome);
      };
      const cancel = processes.subscribe(look);
      look(processes.find(id));
    });
  }

  /** Actions get only PATH and HOME of the agent's environment, which may hold tokens. */
  #taskOf(execution: Execution, id: string): Task {
    const { directory, inherited } = this.#options;
    const place = workDirectoryOf(directory, execution);
    const files = failureFilesIn(place);
    return {
      id,
      command: commandOf(execution.action) ?? [""],
      env: {
        ...inherited,
        ...withoutMasks(execution.action.env),
        TINKERBELL_FAILURE_REASON_FILE: files.reason,
        TINKERBELL_FAILURE_MESSAGE_FILE: files.message,
      },
      maskedVariables: maskedNames(execution.action.env),
      workingDirectory: join(place, "files"),
      logPath: logPathOf(directory, execution),
      logRotation,
    };
  }

  /** A lost task is a failure: servers hear of interruptions only when an agent connects. */
  async #endingOf(execution: Execution, outcome: TaskOutcome): Promise<Ending> {
    if (outcome.kind === "lost") return failed("RuntimeError", outcome.message);
    if (outcome.kind === "not-started")
      return failed(outcome.code === 127 ? "CommandNotFound" : "RuntimeError", outcome.message);
    const { directory } = this.#options;
    const own = await readFailureFiles(failureFilesIn(workDirectoryOf(directory, execution)));
    const { env } = execution.action;
    const lastError = await lastErrorLine(logPathOf(directory, execution), outcome.startedAt);
    return endingOf({
      exitCode: outcome.code,
      isOutOfMemory: outcome.outOfMemory === true,
      reason: masked(own.reason, env),
      message: masked(own.message, env),
      lastError,
    });
  }
}

function commandOf({ cmd, args }: AgentAction): Task["command"] | undefined {
  const [program, ...rest] = cmd === undefined || cmd === "" ? args : [cmd, ...args];
  return program === undefined ? undefined : [program, ...rest];
}

const ignoredBy = ({ volumes, pid, network }: AgentAction): string =>
  [
    ...(volumes.length > 0 ? ["volumes"] : []),
    ...(pid === undefined && network === undefined ? [] : ["namespaces"]),
  ].join(" and ");
