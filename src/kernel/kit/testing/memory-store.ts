import { deepFreeze } from "#lib/base/index.ts";
import { expired, type Stored } from "#kernel/model/index.ts";

/** One committed change. `previous` is the state before it; `object` of a removal is the last state with the removal's revision. */
export interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: string;
  readonly key: string;
  readonly object: Stored;
  readonly previous: Stored | undefined;
}

/** Objects by resource and key with a bounded history of changes, all in memory. Revisions are 1, 2, 3, … without gaps. */
export class MemoryStore {
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #historyLimit: number;
  readonly #waiting = new Set<() => void>();
  #history: Change[] = [];
  #revision = 0;
  #compacted = 0;

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit;
  }

  get revision(): number {
    return this.#revision;
  }

  get(resource: string, key: string): Stored | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  /** Everything stored, in no order. */
  *all(): Generator<{ readonly resource: string; readonly key: string; readonly object: Stored }> {
    for (const [resource, objects] of this.#objects)
      for (const [key, object] of objects) yield { resource, key, object };
  }

  /** Stores a new state and gives it the next revision as its resourceVersion. */
  put(resource: string, key: string, object: Stored): Stored {
    return this.#commit(resource, key, object, (previous) => (previous === undefined ? "ADDED" : "MODIFIED"));
  }

  /** Removes the object, with `object` as its last state. */
  remove(resource: string, key: string, object: Stored): Stored {
    return this.#commit(resource, key, object, () => "DELETED");
  }

  #commit(resource: string, key: string, object: Stored, typeFor: (previous?: Stored) => Change["type"]): Stored {
    const objects = this.#objects.get(resource) ?? new Map<string, Stored>();
    this.#objects.set(resource, objects);
    const previous = objects.get(key);
    const type = typeFor(previous);
    const revision = ++this.#revision;
    const stored = deepFreeze({ ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } });
    if (type === "DELETED") objects.delete(key);
    else objects.set(key, stored);
    this.#history.push({ revision, type, resource, key, object: stored, previous });
    if (this.#history.length > this.#historyLimit * 2) this.compact(this.#revision - this.#historyLimit);
    this.wake();
    return stored;
  }

  /** The objects of a resource as they were at a revision, ordered by namespace and name. */
  at(resource: string, revision: number): readonly Stored[] {
    const state = new Map(this.#objects.get(resource));
    for (const change of this.since(revision).reverse()) {
      if (change.resource !== resource) continue;
      if (change.previous === undefined) state.delete(change.key);
      else state.set(change.key, change.previous);
    }
    return [...state].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  /** All changes after a revision. Throws Expired when some of them are forgotten. */
  since(revision: number): Change[] {
    if (revision < this.#compacted) {
      throw expired(`the revision ${revision} is too old; the oldest kept is ${this.#compacted}`);
    }
    return this.#history.slice(revision - this.#compacted);
  }

  /** Forgets the changes up to and including a revision. */
  compact(revision = this.#revision): void {
    const upTo = Math.min(revision, this.#revision);
    if (upTo <= this.#compacted) return;
    this.#history = this.#history.slice(upTo - this.#compacted);
    this.#compacted = upTo;
  }

  /** Calls `run` once, at the next change or `wake`. The answer takes the call back. */
  onceChanged(run: () => void): () => void {
    this.#waiting.add(run);
    return () => this.#waiting.delete(run);
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const run of waiting) run();
  }
}
