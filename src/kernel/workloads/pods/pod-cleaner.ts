import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, codeOf, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { hasEnded, type Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { logsDirectory, podPaths, podsDirectory, uidOfTask } from "./pod-paths.ts";

export interface PodCleanerOptions {
  readonly runtime: Runtime;
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long logs stay after their pod is gone. */
  readonly logRetention: Millis;
}

/** Removes what pods leave behind. Nothing here waits for a process: who is told to end is forgotten when it has ended. */
export class PodCleaner {
  readonly #options: PodCleanerOptions;
  /** Pods that are gone and whose tasks are ending. */
  readonly #gone = new Set<string>();
  readonly #cancel: () => void;

  constructor(options: PodCleanerOptions) {
    this.#options = options;
    this.#cancel = options.runtime.subscribe((status) => {
      const uid = uidOfTask(status.id);
      if (hasEnded(status) && this.#gone.has(uid)) this.#detach(this.#finish(uid));
    });
  }

  close(): void {
    this.#cancel();
  }

  /** A pod has ended and that is written down: its tasks and files are not needed any more, but its logs are. */
  async settle(pod: PodObject): Promise<void> {
    const { runtime, directory } = this.#options;
    const ids = await this.#tasksOf(pod.metadata.uid ?? "");
    await runtime.remove(ids);
    await rm(podPaths(directory, pod).pod, { recursive: true, force: true });
  }

  /** A pod does not exist any more: what runs of it is killed, its files go at once and its logs after their retention. */
  async forget(uid: string, logs: string | undefined): Promise<void> {
    const { runtime, clock, logRetention } = this.#options;
    this.#gone.add(uid);
    for (const id of await this.#tasksOf(uid)) await runtime.stop(id, 0);
    await this.#finish(uid);
    if (logs === undefined) return;
    clock.after(logRetention, () => this.#detach(rm(logs, { recursive: true, force: true })));
  }

  /** Tasks and directories of pods that do not exist, left by an earlier process. */
  async forgetStrangers(isKnown: (uid: string) => boolean): Promise<void> {
    const { runtime, directory } = this.#options;
    const uids = new Set((await runtime.list()).map(({ id }) => uidOfTask(id)));
    for (const uid of await names(podsDirectory(directory))) uids.add(uid);
    for (const uid of uids) if (!isKnown(uid)) await this.forget(uid, undefined);
    for (const logs of await podLogDirectories(directory)) {
      if (!isKnown(logs.uid)) await this.forget(logs.uid, logs.path);
    }
  }

  async #finish(uid: string): Promise<void> {
    const { runtime, directory } = this.#options;
    const ids = await this.#tasksOf(uid);
    if (ids.some((id) => runtime.find(id)?.state.phase !== "ended")) return;
    await runtime.remove(ids);
    await rm(join(podsDirectory(directory), uid), { recursive: true, force: true });
    this.#gone.delete(uid);
  }

  async #tasksOf(uid: string): Promise<readonly string[]> {
    return (await this.#options.runtime.list()).map(({ id }) => id).filter((id) => uidOfTask(id) === uid);
  }

  #detach(work: Promise<void>): void {
    void work.catch((failure: unknown) =>
      this.#options.log.warn("what a pod left behind cannot be removed", { error: messageOf(failure) }),
    );
  }
}

async function podLogDirectories(root: string): Promise<readonly { readonly uid: string; readonly path: string }[]> {
  const found: { uid: string; path: string }[] = [];
  const top = logsDirectory(root);
  for (const namespace of await names(top)) {
    for (const pod of await names(join(top, namespace))) {
      for (const uid of await names(join(top, namespace, pod)))
        found.push({ uid, path: join(top, namespace, pod, uid) });
    }
  }
  return found;
}

async function names(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return [];
    throw thrown;
  });
}
