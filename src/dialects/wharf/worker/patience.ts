import { type Clock, codeOf, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { StepFailure } from "./step-failure.ts";

/** An engine, or a cluster, that is started anew is back by then. */
export const defaultPatience: Millis = 60_000;

const longestPause: Millis = 2_000;

/** What connections say when an engine goes away while it answers. */
const engineBroken = new Set(["engine-unreachable", "ECONNRESET", "EPIPE", "ERR_STREAM_PREMATURE_CLOSE"]);

/** Whom there is patience with. */
export interface Counterpart {
  /** In words, as the subject of a sentence. */
  readonly name: string;
  /** Whether a failure means that it is away, and may be back soon. */
  readonly isAway: (thrown: unknown) => boolean;
}

const engine: Counterpart = { name: "the engine", isAway: (thrown) => engineBroken.has(codeOf(thrown) ?? "") };

/**
 * Asks an engine, or another counterpart, again and again while it does not answer, and fails the step with `RuntimeLost` in the end, so long after
 * the first failure. Only what may be asked twice: an answer that was lost may have been a yes. What is refused is not asked again.
 */
export class Patience {
  readonly #clock: Clock;
  readonly #longest: Millis;
  readonly #counterpart: Counterpart;

  constructor(clock: Clock, longest: Millis = defaultPatience, counterpart: Counterpart = engine) {
    this.#clock = clock;
    this.#longest = longest;
    this.#counterpart = counterpart;
  }

  /** How long the counterpart is waited for. */
  get longest(): Millis {
    return this.#longest;
  }

  /** Whether a failure means that the counterpart is away. */
  isAway(thrown: unknown): boolean {
    return this.#counterpart.isAway(thrown);
  }

  /** The question is asked at least once, also when there is no time at all. Rejects with the signal's reason between two questions. */
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

  /** The failure of a step whose counterpart did not come back. */
  lost(thrown: unknown): StepFailure {
    const { name } = this.#counterpart;
    return new StepFailure("RuntimeLost", `${name} was away for ${this.#longest / 1000} s: ${messageOf(thrown)}`);
  }
}
