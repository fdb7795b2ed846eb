import { namesIn } from "#lib/base/index.node.ts";
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Cancel, type Clock, codeOf, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { Fifo } from "#kernel/kit/index.ts";
import { hasEnded, type Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { logsDirectory, podPaths, podsDirectory, uidOfTask } from "./pod-paths.ts";

export interface PodCleanerOptions {
  readonly runtime: Runtime;
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly logRetention: Millis;
}

/**
 * Removes what pods leave behind, without waiting for processes. When a pod ends, its tasks, sandbox and volumes go;
 * when it is gone, its processes are killed and its logs go after their retention. The next process does the same for
 * pods that are gone by then.
 */
export class PodCleaner {
  readonly #options: PodCleanerOptions;
  readonly #gone = new Set<string>();
  readonly #cancel: Cancel;
  /** Oldest first. */
  readonly #retained = new Fifo<{ readonly logs: string; readonly until: Millis }>();
  #cancelWait: Cancel | undefined;

  constructor(options: PodCleanerOptions) {
    this.#options = options;
    this.#cancel = options.runtime.subscribe((status) => {
      const uid = uidOfTask(status.id);
      if (hasEnded(status) && this.#gone.has(uid)) this.#detach(this.#finish(uid));
    });
  }

  /** Logs whose retention is running stay until the next process starts. */
  close(): void {
    this.#cancel();
    this.#cancelWait?.();
  }

  /** For a pod whose end is stored: only its logs are still needed. */
  async settle(pod: PodObject): Promise<void> {
    const { runtime, directory } = this.#options;
    const ids = await this.#tasksOf(pod.metadata.uid ?? "");
    await runtime.remove(ids);
    await runtime.containers?.closeSandbox(pod.metadata.uid ?? "");
    await rm(podPaths(directory, pod).pod, { recursive: true, force: true });
  }

  /** For a pod that does not exist any more. */
  async forget(uid: string, logs: string | undefined): Promise<void> {
    const { runtime, clock, logRetention } = this.#options;
    this.#gone.add(uid);
    for (const id of await this.#tasksOf(uid)) await runtime.stop(id, 0);
    await this.#finish(uid);
    if (logs === undefined) return;
    this.#retained.push({ logs, until: clock.monotonic() + logRetention });
    if (this.#cancelWait === undefined) this.#waitForOldest();
  }

  /** One timer for all: a busy server retains the logs of thousands. */
  #waitForOldest(): void {
    const { clock } = this.#options;
    const oldest = this.#retained.shift();
    this.#cancelWait =
      oldest &&
      clock.after(oldest.until - clock.monotonic(), () => {
        this.#detach(removeLogs(oldest.logs));
        this.#waitForOldest();
      });
  }

  /** For tasks and directories that an earlier process has left. */
  async forgetStrangers(isKnown: (uid: string) => boolean): Promise<void> {
    const { runtime, directory } = this.#options;
    const uids = new Set((await runtime.list()).map(({ id }) => uidOfTask(id)));
    for (const uid of await namesIn(podsDirectory(directory))) uids.add(uid);
    for (const uid of (await runtime.containers?.sandboxes()) ?? []) uids.add(uid);
    for (const uid of uids) if (!isKnown(uid)) await this.forget(uid, undefined);
    for (const logs of await podLogDirectories(directory)) {
      if (!isKnown(logs.uid)) await this.forget(logs.uid, logs.path);
    }
  }

  /** Only when all tasks have ended: a process that still writes would bring its directory back. */
  async #finish(uid: string): Promise<void> {
    const { runtime, directory } = this.#options;
    const ids = await this.#tasksOf(uid);
    if (ids.some((id) => runtime.find(id)?.state.phase !== "ended")) return;
    await runtime.remove(ids);
    await runtime.containers?.closeSandbox(uid);
    await rm(join(podsDirectory(directory), uid), { recursive: true, force: true });
    this.#gone.delete(uid);
  }

  async #tasksOf(uid: string): Promise<readonly string[]> {
    return (await this.#options.runtime.list(uid)).map(({ id }) => id);
  }

  /** What cannot be removed is found by the next process. */
  #detach(work: Promise<void>): void {
    void work.catch((failure: unknown) =>
      this.#options.log.warn("failed to remove the leftovers of a pod", { error: messageOf(failure) }),
    );
  }
}

/** The parent has the pod's name and goes with its last log. */
async function removeLogs(logs: string): Promise<void> {
  await rm(logs, { recursive: true, force: true });
  await rmdir(dirname(logs)).catch((thrown: unknown) => {
    // Another pod of this name has its logs there.
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(codeOf(thrown) ?? "")) throw thrown;
  });
}

async function podLogDirectories(root: string): Promise<readonly { readonly uid: string; readonly path: string }[]> {
  const found: { uid: string; path: string }[] = [];
  const top = logsDirectory(root);
  for (const namespace of await namesIn(top)) {
    for (const pod of await namesIn(join(top, namespace))) {
      for (const uid of await namesIn(join(top, namespace, pod)))
        found.push({ uid, path: join(top, namespace, pod, uid) });
    }
  }
  return found;
}
