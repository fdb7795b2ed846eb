import type { Clock, Millis } from "#lib/base/index.ts";
import { agentKey } from "../state.ts";
import { WakeTimers } from "./wake-timers.ts";

/** More are served, and not shown: ids may be made up. */
const maxPresent = 20_000;

/**
 * Agents that ask, and have no stream whose end could be noticed: present from the first time they are heard of until they were silent for a
 * while. One that holds a workflow is at work, and does not ask.
 */
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

  /** How many there are. */
  get size(): number {
    return this.#present.size;
  }

  /** True when it was not there before. */
  heard(agentID: string): boolean {
    const key = agentKey(agentID);
    const isNew = !this.#present.has(key);
    if (isNew && this.#present.size >= maxPresent) return false;
    this.#present.set(key, agentID);
    this.#timers.setAfter(key, this.#silence);
    return isNew;
  }

  /** It is connected by a stream from now on. */
  forget(agentID: string): void {
    const key = agentKey(agentID);
    this.#present.delete(key);
    this.#timers.delete(key);
  }

  has(agentID: string): boolean {
    return this.#present.has(agentKey(agentID));
  }

  /** Nobody is told that agents have left any more. */
  close(): void {
    this.#timers.close();
  }
}
