import type { Clock, Millis } from "#lib/base/index.ts";
import { WakeTimers } from "./wake-timers.ts";

/** More agents are served but not shown: ids may be invented. */
const maxPresent = 20_000;

export interface PresenceOptions {
  readonly clock: Clock;
  /** How long an agent may say nothing. */
  readonly silence: Millis;
  /** Equal for all spellings of an id. */
  readonly keyOf: (agentID: string) => string;
  /** Present all the same: it works, or is connected. */
  readonly isBusy: (key: string) => boolean;
  readonly left: (agentID: string) => void;
}

/** Agents that say something from time to time, present until they are silent for a while. */
export class Presence {
  readonly #present = new Map<string, string>();
  readonly #timers: WakeTimers;
  readonly #silence: Millis;

  readonly #keyOf: PresenceOptions["keyOf"];

  constructor({ clock, silence, keyOf, isBusy, left }: PresenceOptions) {
    this.#silence = silence;
    this.#keyOf = keyOf;
    this.#timers = new WakeTimers(clock, (key) => {
      const agentID = this.#present.get(key);
      if (agentID === undefined) return;
      if (isBusy(key)) return this.#timers.setAfter(key, silence);
      this.#present.delete(key);
      left(agentID);
    });
  }

  get size(): number {
    return this.#present.size;
  }

  /** True if it was not present. */
  heard(agentID: string): boolean {
    const key = this.#keyOf(agentID);
    const isNew = !this.#present.has(key);
    if (isNew && this.#present.size >= maxPresent) return false;
    this.#present.set(key, agentID);
    this.#timers.setAfter(key, this.#silence);
    return isNew;
  }

  forget(agentID: string): void {
    const key = this.#keyOf(agentID);
    this.#present.delete(key);
    this.#timers.delete(key);
  }

  has(agentID: string): boolean {
    return this.#present.has(this.#keyOf(agentID));
  }

  close(): void {
    this.#timers.close();
  }
}
