import { type Cancel, getOrAdd } from "#lib/base/index.ts";
import type { TaskStatus } from "./contract.ts";

/** The last known status of each task, and its listeners. Repeated and late news are dropped. */
export class TaskMirror {
  readonly #tasks = new Map<string, TaskStatus>();
  readonly #idsByOwner = new Map<string, Set<string>>();
  readonly #listeners = new Set<(status: TaskStatus) => void>();

  find(id: string): TaskStatus | undefined {
    return this.#tasks.get(id);
  }

  list(owner?: string): readonly TaskStatus[] {
    if (owner === undefined) return [...this.#tasks.values()];
    return [...(this.#idsByOwner.get(owner) ?? [])].flatMap((id) => this.#tasks.get(id) ?? []);
  }

  /** Listeners are called when the phase changes, after `find` shows it. An ended task stays ended. */
  put(status: TaskStatus): void {
    const phase = this.#tasks.get(status.id)?.state.phase;
    if (phase === "ended" || phase === status.state.phase) return;
    this.#tasks.set(status.id, status);
    const owner = ownerOf(status.id);
    getOrAdd(this.#idsByOwner, owner, () => new Set()).add(status.id);
    for (const listener of this.#listeners) listener(status);
  }

  /** Without telling listeners. */
  remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.#tasks.delete(id);
      const owner = ownerOf(id);
      const left = this.#idsByOwner.get(owner);
      if (left?.delete(id) === true && left.size === 0) this.#idsByOwner.delete(owner);
    }
  }

  /** In the order of subscription. A listener must not throw. */
  subscribe(listener: (status: TaskStatus) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const ownerOf = (id: string): string => id.split("/", 1)[0] ?? id;
