import type { Cancel, Clock, Millis } from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";
import type { Witness } from "../sessions/sessions.ts";

/** A check costs a microsecond or two per stream. */
const lookEveryMs: Millis = 1000;

interface Guarded {
  readonly proof: Witness;
  readonly identity: Identity | undefined;
  readonly end: () => void;
}

/** Ends a long answer within a second after its credential becomes invalid or changes its identity. */
export class OpenStreams {
  readonly #clock: Clock;
  readonly #open = new Set<Guarded>();
  #next: Cancel | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `end` once if `proof` returns another identity, unless the returned function was called. */
  guard(proof: Witness, end: () => void): () => void {
    const guarded: Guarded = { proof, identity: proof(), end };
    this.#open.add(guarded);
    this.#next ??= this.#clock.after(lookEveryMs, () => this.#look());
    return () => {
      this.#open.delete(guarded);
      if (this.#open.size > 0) return;
      this.#next?.();
      this.#next = undefined;
    };
  }

  #look(): void {
    this.#next = undefined;
    for (const guarded of this.#open) {
      if (isSame(guarded.proof(), guarded.identity)) continue;
      this.#open.delete(guarded);
      guarded.end();
    }
    if (this.#open.size > 0) this.#next ??= this.#clock.after(lookEveryMs, () => this.#look());
  }
}

const isSame = (now: Identity | undefined, before: Identity | undefined): boolean =>
  now !== undefined &&
  now.user === before?.user &&
  now.groups.length === before.groups.length &&
  now.groups.every((group, index) => group === before.groups[index]);
