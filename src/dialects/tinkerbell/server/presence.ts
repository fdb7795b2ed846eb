import type { Clock, Millis } from "#lib/base/index.ts";
import { agentKey } from "../state.ts";
import { WakeTimers } from "./wake-timers.ts";

/** More agents are served but not shown: ids may be invented. */
const maxPresent = 20_000;

/** Polling agents, present until silent for a while. Agents that hold a workflow do not poll. */
export class Presence {
  readonly #present = new Map<string, string>();
  readonly #timers: WakeTimers;
  readonly #silence: Millis;

  constructor(
    { clock, silence }: { readonly clock: Clock; readonly silence: Millis },
    on: { readonly isBusy: (key: string) => boolean; readonly left: (agentID: string) => void },
  ) {
    this.#silence = silence;
    this.#timers = new WakeTimers(clock, (key) => {
      const agentID = this.#present.get(key);
      if (agentID === undefined) return;
      if (on.isBusy(key)) return this.#timers.setAfter(key, silence);
      this.#present.delete(key);
      on.left(agentID);
    });
  }

  get size(): number {
    return this.#present.size;
  }

  /** True if it was not present. */
  heard(agentID: string): boolean {
    const key = agentKey(agentID);
    const isNew = !this.#present.has(key);
    if (isNew && this.#present.size >= maxPresent) return false;
    this.#present.set(key, agentID);
    this.#timers.setAfter(key, this.#silence);
    return isNew;
  }

  forget(agentID: string): void {
    const key = agentKey(agentID);
    this.#present.delete(key);
    this.#timers.delete(key);
  }

  has(agentID: string): boolean {
    return this.#present.has(agentKey(agentID));
  }

  close(): void {
    this.#timers.close();
  }
}
