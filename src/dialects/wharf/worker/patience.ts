import { type Clock, codeOf, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { StepFailure } from "./step-failure.ts";

/** Long enough for an engine or a cluster to restart. */
export const defaultPatience: Millis = 60_000;

const longestPause: Millis = 2_000;

const engineBroken = new Set(["engine-unreachable", "ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"]);

export interface Counterpart {
  readonly name: string;
  readonly isAway: (thrown: unknown) => boolean;
}

const engine: Counterpart = { name: "the engine", isAway: (thrown) => engineBroken.has(codeOf(thrown) ?? "") };

/** Retries a request while its counterpart is away and then fails the step with `RuntimeLost`. Only for idempotent
 * requests. Refusals are not retried. */
export class Patience {
  readonly #clock: Clock;
  readonly #longest: Millis;
  readonly #counterpart: Counterpart;

  constructor(clock: Clock, longest: Millis = defaultPatience, counterpart: Counterpart = engine) {
    this.#clock = clock;
    this.#longest = longest;
    this.#counterpart = counterpart;
  }

  get longest(): Millis {
    return this.#longest;
  }

  isAway(thrown: unknown): boolean {
    return this.#counterpart.isAway(thrown);
  }

  /** Asks at least once. Rejects with the signal's reason. */
  async ask<T>(question: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    let end: Millis | undefined;
    for (let pause: Millis = 100; ; pause = Math.min(2 * pause, longestPause)) {
      try {
        return await question();
      } catch (thrown) {
        if (!this.isAway(thrown)) throw thrown;
        end ??= this.#clock.monotonic() + this.#longest;
        if (this.#clock.monotonic() >= end) throw this.lost(thrown);
      }
      await sleep(this.#clock, pause, signal);
    }
  }

  lost(thrown: unknown): StepFailure {
    const { name } = this.#counterpart;
    return new StepFailure("RuntimeLost", `${name} was away for ${this.#longest / 1000} s: ${messageOf(thrown)}`);
  }
}
