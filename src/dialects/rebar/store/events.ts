import { type Clock, formatInstant, type Logger, messageOf } from "#lib/base/index.ts";
import { keyOf } from "../model/read.ts";
import type { AnyObject, Collection } from "../objects.ts";
import type { RebarEvent } from "../store.ts";
import { type Principal, principalText } from "../world.ts";

export const internal: Principal = { kind: "internal" };

/** Tells listeners what was committed, in that order. */
export class Events {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listeners = new Set<(event: RebarEvent) => void>();

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  listen(listener: (event: RebarEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  publish(event: Omit<RebarEvent, "Time">): void {
    if (this.#listeners.size === 0) return;
    const timed = { ...event, Time: formatInstant(this.#clock.now()) };
    for (const listener of this.#listeners) {
      try {
        listener(timed);
      } catch (thrown) {
        this.#log.error("a listener of events failed", { error: messageOf(thrown) });
      }
    }
  }

  /** `object` is the one after the change, or the removed one. */
  tell(
    collection: Collection,
    action: "create" | "update" | "save" | "delete",
    object: AnyObject,
    by: Principal,
    original?: AnyObject,
  ): void {
    this.publish({
      Type: collection,
      Action: action,
      Key: keyOf(collection, object),
      Principal: principalText(by),
      Object: object,
      Original: original ?? null,
    });
  }
}
