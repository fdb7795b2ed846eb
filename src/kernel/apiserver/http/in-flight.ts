import { tooManyRequests } from "#kernel/model/index.ts";
import type { Limits } from "../verbs/limits.ts";
import { count } from "./counts.ts";

/** What a request takes a place of. Watches are apart: they last, and cost little while nothing changes. So are streams into Pods, which last and cost more. */
export type Slot = "mutating" | "reading" | "watch" | "stream";

/** Who takes a place, for the limits of one user and for metrics. */
export interface Entrant {
  readonly user: string;
  /** The plural of the kind. */
  readonly resource: string;
}

/**
 * Counts what is under way on all listeners together and refuses what is too much, so that one caller cannot take the memory of the
 * others (the limits of `Limits`). Nobody waits for a place: a client that hears 429 comes back after the second it is told.
 */
export class InFlight {
  readonly #limits: Limits;
  /** What is under way now; read by metrics, changed here only. */
  readonly counts = { mutating: 0, reading: 0, watch: 0, stream: 0 };
  readonly #streamsByUser = new Map<string, number>();
  readonly #watchesByUser = new Map<string, number>();
  readonly #watchesByResource = new Map<string, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Throws 429 when there is no place now, without taking one: for who has to wait for something before he needs it. */
  check(slot: "mutating" | "reading"): void {
    const most = slot === "mutating" ? this.#limits.maxMutatingRequests : this.#limits.maxReadingRequests;
    if (this.counts[slot] >= most) throw tooManyRequests("requests");
  }

  /** Takes a place, or throws 429. The function returned gives it back; calling it twice is harmless. */
  enter(slot: Slot, entrant: Entrant): () => void {
    if (slot === "watch") return this.#enterWatch(entrant);
    if (slot === "stream") return this.#enterStream(entrant);
    this.check(slot);
    this.counts[slot] += 1;
    return once(() => (this.counts[slot] -= 1));
  }

  /** Watches under way by kind; kinds without any are left out. */
  get watchesByResource(): ReadonlyMap<string, number> {
    return this.#watchesByResource;
  }

  #enterStream({ user }: Entrant): () => void {
    const { maxPodStreams, maxPodStreamsPerUser } = this.#limits;
    const own = this.#streamsByUser.get(user) ?? 0;
    if (this.counts.stream >= maxPodStreams || own >= maxPodStreamsPerUser) throw tooManyRequests("streams into Pods");
    this.counts.stream += 1;
    count(this.#streamsByUser, user, 1);
    return once(() => {
      this.counts.stream -= 1;
      count(this.#streamsByUser, user, -1);
    });
  }

  /** One user cannot take all places: browsers and controllers share a server. */
  #enterWatch({ user, resource }: Entrant): () => void {
    const { maxWatches, maxWatchesPerUser } = this.#limits;
    const own = this.#watchesByUser.get(user) ?? 0;
    if (this.counts.watch >= maxWatches || own >= maxWatchesPerUser) throw tooManyRequests("watches");
    this.counts.watch += 1;
    count(this.#watchesByUser, user, 1);
    count(this.#watchesByResource, resource, 1);
    return once(() => {
      this.counts.watch -= 1;
      count(this.#watchesByUser, user, -1);
      count(this.#watchesByResource, resource, -1);
    });
  }
}

/** Streams end by close, error and timeout, sometimes by two of them: a place must not be given back twice. */
function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}
