import type { Limits } from "../verbs/limits.ts";
import { tooManyRequests } from "../verbs/refusals.ts";

export type Slot = "mutating" | "reading" | "watch";

/** Counts what is under way and refuses what is too much. */
export class InFlight {
  readonly #limits: Limits;
  readonly counts = { mutating: 0, reading: 0, watch: 0 };
  readonly #watchesByUser = new Map<string, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Takes a place, or throws 429. The function returned gives it back; calling it twice is harmless. */
  enter(slot: Slot, user: string): () => void {
    if (slot === "watch") return this.#enterWatch(user);
    const most = slot === "mutating" ? this.#limits.maxMutatingRequests : this.#limits.maxReadingRequests;
    if (this.counts[slot] >= most) throw tooManyRequests("requests");
    this.counts[slot] += 1;
    return once(() => (this.counts[slot] -= 1));
  }

  #enterWatch(user: string): () => void {
    const own = this.#watchesByUser.get(user) ?? 0;
    if (this.counts.watch >= this.#limits.maxWatches || own >= this.#limits.maxWatchesPerUser) {
      throw tooManyRequests("watches");
    }
    this.counts.watch += 1;
    this.#watchesByUser.set(user, own + 1);
    return once(() => {
      this.counts.watch -= 1;
      const left = (this.#watchesByUser.get(user) ?? 1) - 1;
      if (left === 0) this.#watchesByUser.delete(user);
      else this.#watchesByUser.set(user, left);
    });
  }
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}
