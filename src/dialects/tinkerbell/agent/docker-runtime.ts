import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type Clock, type Logger, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import type { ContainerEngine, RegistryLogin } from "#kernel/runtimes/index.ts";
import { logRotation } from "../logs/places.ts";
import { masked, maskedValues } from "../logs/masking.ts";
import { clearLog, lastErrorLine, remark } from "./action-log.ts";
import type { ActionRuntime, Prepared } from "./action-runtime.ts";
import { containerName, containerSettings, isOwnContainer, labels, registryOf } from "./container-settings.ts";
import { endingOf, failed } from "./failure.ts";
import { failureFilesIn, makeFailureFiles, readFailureFiles } from "./failure-files.ts";
import { told } from "./messages.ts";
import { logPathOf, removeWork, workDirectoryOf } from "./places.ts";
import type { Ending, Execution } from "./work.ts";

export type PullPolicy = "always" | "missing" | "never";

export interface DockerRuntimeOptions {
  readonly engine: ContainerEngine;
  readonly agentId: string;
  readonly directory: string;
  readonly pull: PullPolicy;
  /** Provisioning needs disks, kernel and firmware. */
  readonly isPrivileged: boolean;
  /** Sent only to the registry of exactly this name. */
  readonly login?: RegistryLogin;
  readonly clock: Clock;
  readonly log: Logger;
}

const pullAttempts = 5;
const firstPause: Millis = 100;

/** Runs actions as containers of a Docker Engine, which is the memory: names are unique, labels tell the owner. */
export class DockerRuntime implements ActionRuntime {
  readonly #options: DockerRuntimeOptions;

  constructor(options: DockerRuntimeOptions) {
    this.#options = options;
  }

  /** Pulls the image first and creates the container last, so that a stop in between leaves little. */
  async prepare(execution: Execution, signal: AbortSignal): Promise<Prepared> {
    const refusal = await this.#ensureImage(execution, signal);
    if (refusal !== undefined) return refusal;
    const { engine, agentId, directory, isPrivileged } = this.#options;
    const name = containerName(execution);
    const found = await engine.find(name);
    if (found !== undefined && isOwnContainer(found.labels)) {
      // Created by an earlier process that did not note it.
      if (
        found.labels[labels.attempt] === `${execution.attempt}` &&
        found.labels[labels.workflow] === execution.workflow
      )
        return { is: "prepared", handle: found.id };
      await engine.remove(found.id);
    }
    // A remote engine has no files of this machine; actions there cannot leave a failure message.
    const files = engine.isLocal ? await makeFailureFiles(workDirectoryOf(directory, execution)) : undefined;
    const settings = containerSettings(execution, { agentId, isPrivileged, files });
    const made = await engine.create(name, settings);
    return made.ok ? { is: "prepared", handle: made.value } : failed("ContainerCreateFailed", made.error.message);
  }

  /** Attaches before the start, so that no output is missed; an adopted container's log is rebuilt. */
  async run(execution: Execution, handle: string): Promise<Ending> {
    const { engine, directory } = this.#options;
    const found = await engine.find(handle);
    if (found === undefined) return failed("RuntimeError", told.containerGone);
    const { env } = execution.action;
    const log = { path: logPathOf(directory, execution), rotation: logRotation, masked: maskedValues(env) };
    const isNew = found.life.startedAt === undefined;
    await makeDirectories(dirname(log.path), 0o750);
    if (!isNew) await clearLog(log.path);
    const output = await (isNew ? engine.attach(handle, log) : engine.readBack(handle, log));
    try {
      const refusal = isNew ? await this.#start(handle) : undefined;
      if (refusal !== undefined) return refusal;
      await engine.ended(handle);
      await output.done;
    } finally {
      output.close();
    }
    return this.#endingOf(execution, handle);
  }

  /** By id, because a container made by others may have taken the name. */
  async isGone(_execution: Execution, handle: string): Promise<boolean> {
    return (await this.#options.engine.find(handle)) === undefined;
  }

  /** Removes the container, so that a pending start finds nothing. */
  async stop(execution: Execution, grace: Millis): Promise<void> {
    const { engine, clock } = this.#options;
    const name = containerName(execution);
    const found = await engine.find(name);
    if (found === undefined || !isOwnContainer(found.labels)) return;
    if (found.life.isRunning) {
      await engine.signal(found.id, "SIGTERM");
      await Promise.race([engine.ended(found.id), sleep(clock, grace)]);
      await engine.signal(found.id, "SIGKILL");
      await engine.ended(found.id);
    }
    await engine.remove(found.id);
  }

  /** By name, because an earlier process may not have noted the id. */
  async discard(execution: Execution): Promise<void> {
    const { engine, directory } = this.#options;
    const found = await engine.find(containerName(execution));
    if (found !== undefined && isOwnContainer(found.labels)) await engine.remove(found.id);
    await rm(workDirectoryOf(directory, execution), { recursive: true, force: true });
  }

  async sweep(keep: Execution | undefined): Promise<void> {
    const { engine, agentId, directory } = this.#options;
    const kept = keep === undefined ? undefined : containerName(keep);
    for (const name of await engine.namesWith(`${labels.agent}=${agentId}`)) {
      if (name !== kept) await engine.remove(name);
    }
    await removeWork(directory, keep);
  }

  async #start(handle: string): Promise<Extract<Ending, { readonly is: "failed" }> | undefined> {
    const started = await this.#options.engine.start(handle);
    if (started.ok) return undefined;
    const { isProgramMissing, message } = started.error;
    return failed(isProgramMissing ? "CommandNotFound" : "ContainerStartFailed", message);
  }

  /** Inspects the container, because waiting returns only the exit code. */
  async #endingOf(execution: Execution, handle: string): Promise<Ending> {
    const { engine, directory } = this.#options;
    const found = await engine.find(handle);
    if (found === undefined) return failed("RuntimeError", told.containerGone);
    const { exitCode, outOfMemory, createdAt = 0, isRunning } = found.life;
    // Something between cut off the wait: exit code 0 would mean nothing.
    if (isRunning) throw new Error("the wait for the container has ended before the container");
    const files = failureFilesIn(workDirectoryOf(directory, execution));
    const own = engine.isLocal ? await readFailureFiles(files) : { reason: "", message: "" };
    const lastError = await lastErrorLine(logPathOf(directory, execution), createdAt);
    const { env } = execution.action;
    const words = { reason: masked(own.reason, env), message: masked(own.message, env), lastError };
    return endingOf({ exitCode, isOutOfMemory: outOfMemory, ...words });
  }

  /** Undefined if the image is present. If a pull fails, a present image is used and the log says so. */
  async #ensureImage(
    execution: Execution,
    signal: AbortSignal,
  ): Promise<Extract<Prepared, { readonly is: "failed" }> | undefined> {
    const { engine, pull, log, directory, clock } = this.#options;
    const { image } = execution.action;
    if (pull !== "always" && (await engine.findImage(image)) !== undefined) return undefined;
    if (pull === "never") return failed("ImagePullFailed", told.imageAbsent(image));
    const trouble = await this.#pull(image, signal);
    if (trouble === undefined) return undefined;
    if (pull === "missing" || (await engine.findImage(image)) === undefined) return failed("ImagePullFailed", trouble);
    log.warn("the image that is here is used, because it cannot be fetched", { image, error: trouble });
    await remark(logPathOf(directory, execution), told.imageKept(trouble), clock);
    return undefined;
  }

  /** The last error of the registry, if the pull failed. */
  async #pull(image: string, signal: AbortSignal): Promise<string | undefined> {
    const { engine, login, clock } = this.#options;
    const own = login?.server === registryOf(image) ? login : undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        await engine.pull(image, own === undefined ? [] : [own], signal);
        return undefined;
      } catch (thrown) {
        signal.throwIfAborted();
        if (attempt === pullAttempts) return messageOf(thrown);
        await sleep(clock, firstPause * 2 ** (attempt - 1), signal);
      }
    }
  }
}
