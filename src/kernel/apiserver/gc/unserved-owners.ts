import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

/** Time without changes of kinds after which a kind counts as not existing. */
export const stableAfterMs: Millis = 30_000;

/** Objects with an unserved owner's kind wait half a minute: an installer may be about to restore the definition. */
export class UnservedOwners {
  readonly #clock: Clock;
  readonly #release: (key: string) => void;
  readonly #waiting = new Set<string>();
  readonly #forget: () => void;
  #changedAt: Millis;
  #cancel: Cancel | undefined;

  /** `release` gets each key once. */
  constructor(clock: Clock, onKindsChange: (listener: () => void) => () => void, release: (key: string) => void) {
    this.#clock = clock;
    this.#release = release;
    this.#changedAt = clock.monotonic();
    this.#forget = onKindsChange(() => {
      this.#changedAt = clock.monotonic();
      this.#releaseAll();
    });
  }

  get isStable(): boolean {
    return this.#clock.monotonic() - this.#changedAt >= stableAfterMs;
  }

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

  /** A key released too early comes back. */
  #releaseAll(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const keys = [...this.#waiting];
    this.#waiting.clear();
    for (const key of keys) this.#release(key);
  }
}
