import type { Instant } from "#lib/base/index.ts";

export interface Candidate {
  readonly key: string;
  readonly createdAt: Instant;
  readonly buildRef: number;
  readonly isAtWork: boolean;
  readonly isWaiting: boolean;
}

export const inOrder = (a: Candidate, b: Candidate): number =>
  a.createdAt - b.createdAt || a.buildRef - b.buildRef || (a.key < b.key ? -1 : 1);

/** Limits running workers. A slot is taken before the start and held until the stored state shows the worker, which may
 * lag behind. */
export class Slots {
  readonly #limit: number;
  /** Taken, but not yet visible in the stored state. */
  readonly #given = new Set<string>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** True if the worker may start; it then has a slot. */
  take(key: string, all: readonly Candidate[]): boolean {
    if (this.#limit === 0 || this.#given.has(key)) return true;
    const taken = new Set([...this.#given, ...all.filter(({ isAtWork }) => isAtWork).map((other) => other.key)]);
    if (taken.has(key)) return true;
    const before = all.filter(({ key: other, isWaiting }) => isWaiting && !taken.has(other)).toSorted(inOrder);
    const place = before.findIndex((other) => other.key === key);
    if (taken.size + (place < 0 ? before.length : place) >= this.#limit) return false;
    this.#given.add(key);
    return true;
  }

  /** The stored state is up to date again. */
  settle(key: string): void {
    this.#given.delete(key);
  }
}
