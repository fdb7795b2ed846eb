import { readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Cancel, type Clock, codeOf, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { hasEnded, type Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { logsDirectory, podPaths, podsDirectory, uidOfTask } from "./pod-paths.ts";

export interface PodCleanerOptions {
  readonly runtime: Runtime;
  /** The pod runner's. */
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long logs stay after their pod is gone. */
  readonly logRetention: Millis;
}

/**
 * Removes what pods leave behind. Nothing here waits for a process: who is told to end is forgotten when it has ended.
 *
 *     the pod ends             its tasks are forgotten, its sandbox, volumes and messages removed; its logs stay
 *     the pod is gone          what still runs of it is killed; its logs go after their retention
 *     another process begins   the same for pods that have gone meanwhile; their retention begins anew
 */
export class PodCleaner {
  readonly #options: PodCleanerOptions;
  /** Uids of pods that are gone and whose tasks are ending. */
  readonly #gone = new Set<string>();
  readonly #cancel: Cancel;
  /** The ends of retentions to come. */
  readonly #retained = new Set<Cancel>();

  constructor(options: PodCleanerOptions) {
    this.#options = options;
    this.#cancel = options.runtime.subscribe((status) => {
      const uid = uidOfTask(status.id);
      if (hasEnded(status) && this.#gone.has(uid)) this.#detach(this.#finish(uid));
    });
  }

  /** Ends listening. Logs whose retention runs stay until another process looks for strangers. */
  close(): void {
    this.#cancel();
    for (const cancel of this.#retained) cancel();
    this.#retained.clear();
  }

  /** A pod has ended and that is written down: its tasks and files are not needed any more, but its logs are. */
  async settle(pod: PodObject): Promise<void> {
    const { runtime, directory } = this.#options;
    const ids = await this.#tasksOf(pod.metadata.uid ?? "");
    await runtime.remove(ids);
    await runtime.containers?.closeSandbox(pod.metadata.uid ?? "");
    await rm(podPaths(directory, pod).pod, { recursive: true, force: true });
  }

  /** A pod does not exist any more: what runs of it is killed, its files go at once and its logs after their retention. */
  async forget(uid: string, logs: string | undefined): Promise<void> {
    const { runtime, clock, logRetention } = this.#options;
    this.#gone.add(uid);
    for (const id of await this.#tasksOf(uid)) await runtime.stop(id, 0);
    await this.#finish(uid);
    if (logs === undefined) return;
    const cancel = clock.after(logRetention, () => {
      this.#retained.delete(cancel);
      this.#detach(removeLogs(logs));
    });
    this.#retained.add(cancel);
  }

  /** Tasks and directories of pods that do not exist, left by an earlier process. */
  async forgetStrangers(isKnown: (uid: string) => boolean): Promise<void> {
    const { runtime, directory } = this.#options;
    const uids = new Set((await runtime.list()).map(({ id }) => uidOfTask(id)));
    for (const uid of await names(podsDirectory(directory))) uids.add(uid);
    for (const uid of (await runtime.containers?.sandboxes()) ?? []) uids.add(uid);
    for (const uid of uids) if (!isKnown(uid)) await this.forget(uid, undefined);
    for (const logs of await podLogDirectories(directory)) {
      if (!isKnown(logs.uid)) await this.forget(logs.uid, logs.path);
    }
  }

  /** Tasks first, and only when all have ended: a process that still writes would bring its directory back. */
  async #finish(uid: string): Promise<void> {
    const { runtime, directory } = this.#options;
    const ids = await this.#tasksOf(uid);
    if (ids.some((id) => runtime.find(id)?.state.phase !== "ended")) return;
    await runtime.remove(ids);
    await runtime.containers?.closeSandbox(uid);
    await rm(join(podsDirectory(directory), uid), { recursive: true, force: true });
    this.#gone.delete(uid);
  }

  /** Hooks included. */
  async #tasksOf(uid: string): Promise<readonly string[]> {
    return (await this.#options.runtime.list(uid)).map(({ id }) => id);
  }

  /** Nobody waits for it. What cannot be removed now is found by the next process, which looks for strangers. */
  #detach(work: Promise<void>): void {
    void work.catch((failure: unknown) =>
      this.#options.log.warn("what a pod left behind cannot be removed", { error: messageOf(failure) }),
    );
  }
}

/** The directory above bears the pod's name and goes with its last log: most pods have a name that never comes again. */
async function removeLogs(logs: string): Promise<void> {
  await rm(logs, { recursive: true, force: true });
  await rmdir(dirname(logs)).catch((thrown: unknown) => {
    // Another pod of this name has its logs there, or has taken them away.
    if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(codeOf(thrown) ?? "")) throw thrown;
  });
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
