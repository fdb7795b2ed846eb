import type { Cancel } from "#lib/base/index.ts";
import type { TaskStatus } from "./contract.ts";

/** The last known status of each task, and who wants to hear of changes. */
export class TaskMirror {
  readonly #tasks = new Map<string, TaskStatus>();
  readonly #listeners = new Set<(status: TaskStatus) => void>();

  find(id: string): TaskStatus | undefined {
    return this.#tasks.get(id);
  }

  list(): readonly TaskStatus[] {
    return [...this.#tasks.values()];
  }

  /** Takes a status; listeners are told when the phase is another than before. A task that has ended does not come back. */
  put(status: TaskStatus): void {
    const phase = this.#tasks.get(status.id)?.state.phase;
    if (phase === "ended" || phase === status.state.phase) return;
    this.#tasks.set(status.id, status);
    for (const listener of this.#listeners) listener(status);
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) this.#tasks.delete(id);
  }

  subscribe(listener: (status: TaskStatus) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
