import type { Cancel } from "#lib/base/index.ts";
import type { TaskStatus } from "./contract.ts";

/**
 * The last known status of each task, and who wants to hear of changes. It makes one story of news that come twice or too late:
 * an answer and an event tell of the same change, a reconnection tells everything again.
 */
export class TaskMirror {
  readonly #tasks = new Map<string, TaskStatus>();
  /** Ids of the tasks of each owner. */
  readonly #idsByOwner = new Map<string, Set<string>>();
  readonly #listeners = new Set<(status: TaskStatus) => void>();

  find(id: string): TaskStatus | undefined {
    return this.#tasks.get(id);
  }

  /** Costs what it finds. */
  list(owner?: string): readonly TaskStatus[] {
    if (owner === undefined) return [...this.#tasks.values()];
    return [...(this.#idsByOwner.get(owner) ?? [])].flatMap((id) => this.#tasks.get(id) ?? []);
  }

  /**
   * Takes a status; listeners are told when the phase is another than before, after `find` shows it. A task that has ended does
   * not come back: a late `running` is dropped.
   */
  put(status: TaskStatus): void {
    const phase = this.#tasks.get(status.id)?.state.phase;
    if (phase === "ended" || phase === status.state.phase) return;
    this.#tasks.set(status.id, status);
    const owner = ownerOf(status.id);
    const ids = this.#idsByOwner.get(owner);
    if (ids === undefined) this.#idsByOwner.set(owner, new Set([status.id]));
    else ids.add(status.id);
    for (const listener of this.#listeners) listener(status);
  }

  /** Forgets tasks, whatever their phase; nobody is told. */
  remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.#tasks.delete(id);
      const owner = ownerOf(id);
      const left = this.#idsByOwner.get(owner);
      if (left?.delete(id) === true && left.size === 0) this.#idsByOwner.delete(owner);
    }
  }

  /** Listeners are called in the order in which they came. A listener that throws keeps the later ones from being told. */
  subscribe(listener: (status: TaskStatus) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

const ownerOf = (id: string): string => id.split("/", 1)[0] ?? id;
