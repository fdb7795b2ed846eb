import { tooManyRequests } from "#kernel/model/index.ts";
import type { Limits } from "../verbs/limits.ts";

/** The limit a request counts against. Watches last but are cheap; streams into Pods last and cost more. */
export type Slot = "mutating" | "reading" | "watch" | "stream";

export interface Entrant {
  readonly user: string;
  readonly resource: string;
}

/** Limits requests on all listeners with 429, so that one caller cannot exhaust the server. */
export class InFlight {
  readonly #limits: Limits;
  readonly counts = { mutating: 0, reading: 0, watch: 0, stream: 0 };
  readonly #streamsByUser = new Map<string, number>();
  readonly #watchesByUser = new Map<string, number>();
  readonly #watchesByResource = new Map<string, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Throws 429 when the limit is reached, without counting the request. */
  check(slot: "mutating" | "reading"): void {
    const most = slot === "mutating" ? this.#limits.maxMutatingRequests : this.#limits.maxReadingRequests;
    if (this.counts[slot] >= most) throw tooManyRequests("requests");
  }

  /** Counts the request or throws 429. The returned function, which may be called twice, uncounts it. */
  enter(slot: Slot, entrant: Entrant): () => void {
    if (slot === "watch") return this.#enterWatch(entrant);
    if (slot === "stream") return this.#enterStream(entrant);
    this.check(slot);
    this.counts[slot] += 1;
    return once(() => (this.counts[slot] -= 1));
  }

  /** Watches under way by kind. */
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

  /** Limited per user: browsers and controllers share a server. */
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

/** Streams may end by close, error and timeout. */
function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}

/** Removes zeros, so that the map stays small. */
export function count(counts: Map<string, number>, key: string, by: number): void {
  const left = (counts.get(key) ?? 0) + by;
  if (left === 0) counts.delete(key);
  else counts.set(key, left);
}
