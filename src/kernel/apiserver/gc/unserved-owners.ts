import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

/** How long nothing may have changed about the kinds before one that is not served counts as one that does not exist. */
export const stableAfterMs: Millis = 30_000;

/**
 * Objects whose owner is of a kind that nobody serves. The definition of that kind may be about to be stored again, by an installer
 * that deletes before it creates, and then the owner may come back too. So they wait until kinds have not changed for half a minute. One
 * timer for all; holds each key once.
 */
export class UnservedOwners {
  readonly #clock: Clock;
  readonly #release: (key: string) => void;
  readonly #waiting = new Set<string>();
  readonly #forget: () => void;
  #changedAt: Millis;
  #cancel: Cancel | undefined;

  /** `release` gets each key once: when a kind has come, or when none will. */
  constructor(clock: Clock, onKindsChange: (listener: () => void) => () => void, release: (key: string) => void) {
    this.#clock = clock;
    this.#release = release;
    this.#changedAt = clock.monotonic();
    this.#forget = onKindsChange(() => {
      this.#changedAt = clock.monotonic();
      this.#releaseAll();
    });
  }

  /** True when a kind that is not served now will not be. */
  get isStable(): boolean {
    return this.#clock.monotonic() - this.#changedAt >= stableAfterMs;
  }

  /** Keeps the key until then. */
  hold(key: string): void {
    this.#waiting.add(key);
    this.#cancel ??= this.#clock.after(this.#changedAt + stableAfterMs - this.#clock.monotonic(), () =>
      this.#releaseAll(),
    );
  }

  close(): void {
    this.#forget();
    this.#cancel?.();
    this.#waiting.clear();
  }

  /** Whoever is released too early comes back. */
  #releaseAll(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const keys = [...this.#waiting];
    this.#waiting.clear();
    for (const key of keys) this.#release(key);
  }
}
