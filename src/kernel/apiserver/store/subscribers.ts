import { messageOf, type Logger } from "#lib/base/index.ts";
import type { StoreEvent } from "./store.ts";

/** `position` is the revision up to which events were delivered. */
export interface Subscriber {
  readonly deliver: (events: readonly StoreEvent[], revision: number) => void;
  position: number;
}

/** Skips events already delivered on subscribing. An exception must not keep a durable write from its caller. */
export function deliverTo(
  subscribers: ReadonlySet<Subscriber>,
  events: readonly StoreEvent[],
  revision: number,
  log: Logger,
): void {
  for (const subscriber of subscribers) {
    if (subscriber.position >= revision) continue;
    const { position } = subscriber;
    subscriber.position = revision;
    const isAhead = (events[0]?.revision ?? 0) <= position;
    deliver(subscriber, isAhead ? events.filter((event) => event.revision > position) : events, revision, log);
  }
}

export function deliver(subscriber: Subscriber, events: readonly StoreEvent[], revision: number, log: Logger): void {
  try {
    subscriber.deliver(events, revision);
  } catch (thrown) {
    log.error("a store subscriber failed", { error: messageOf(thrown) });
  }
}
