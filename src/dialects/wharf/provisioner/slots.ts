import type { Instant } from "#lib/base/index.ts";

/** A worker as far as it matters for who is next. */
export interface Candidate {
  readonly key: string;
  readonly createdAt: Instant;
  readonly buildRef: number;
  /** Its program was started and its build has not ended. */
  readonly isAtWork: boolean;
  /** It was not started yet, and nobody wants it gone. */
  readonly isWaiting: boolean;
}

/** The order in which workers are started: the oldest first, of one second that of the earlier build. */
export const inOrder = (a: Candidate, b: Candidate): number =>
  a.createdAt - b.createdAt || a.buildRef - b.buildRef || (a.key < b.key ? -1 : 1);

/**
 * Who may be at work, where that is limited. A slot is given before the program is started and is held until its worker is seen not to need
 * it any more, so that what is stored may lag behind.
 */
export class Slots {
  readonly #limit: number;
  /** Given, and not seen at work yet. */
  readonly #given = new Set<string>();

  /** 0 is no limit. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether a waiting worker may be started now. It has a slot then. */
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

  /** What is stored tells the truth about it again: it is at work, has ended or is gone. */
  settle(key: string): void {
    this.#given.delete(key);
  }
}
