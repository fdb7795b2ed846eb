import { type Cancel, type Instant, parseInstant } from "#lib/base/index.ts";
import type { Collection, Entry, StoreEvent } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { metaText } from "../verbs/metadata.ts";

const events: Collection = { group: "", resource: "events" };
/** Removed in one transaction; what is left is due at once and comes next. */
const batchSize = 500;
const retryMs = 5000;

/** An Event in the state that was seen last, and when its time is over. */
interface Due {
  readonly entry: Entry;
  readonly at: Instant;
}

/**
 * Removes Events some time after their last change (`Limits.eventTtlMs`, an hour). One timer for all: every Event lives equally long, so
 * the order of changes is the order of ends. As many records as there are Events.
 */
export class EventTtl {
  readonly #context: ApiContext;
  /** Oldest change first: a changed Event moves to the end. */
  readonly #dueByName = new Map<string, Due>();
  #cancel: Cancel | undefined;
  #removing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  /** Takes up the Events that are there. After a clock jump or a long sleep many are due at once, and go batch by batch. */
  start(): void {
    const { store, clock } = this.#context;
    const now = clock.now();
    // When an Event changed last is not stored apart, so what was there before counts from what it says itself.
    const found = store.page(events, {}).entries.map((entry) => ({ entry, changed: lastChangeOf(entry) ?? now }));
    for (const { entry, changed } of found.sort((a, b) => a.changed - b.changed))
      this.#watch(entry, Math.min(changed, now));
    this.#schedule();
  }

  /** The changes of one commit. */
  observe(batch: readonly StoreEvent[]): void {
    for (const { type, entry } of batch) {
      if (entry.key.resource !== "events" || entry.key.group !== "") continue;
      if (type === "delete") this.#dueByName.delete(nameOf(entry));
      else this.#watch(entry, this.#context.clock.now());
    }
    if (this.#cancel === undefined) this.#schedule();
  }

  /** Resolves when a removal that has begun has ended. */
  close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    return this.#removing;
  }

  /** Puts the Event at the end: nothing that is there changed later. */
  #watch(entry: Entry, changed: Instant): void {
    const name = nameOf(entry);
    this.#dueByName.delete(name);
    this.#dueByName.set(name, { entry, at: changed + this.#context.limits.eventTtlMs });
  }

  /** Sets the timer for the oldest, if there is one. At most one timer or removal is under way. */
  #schedule(): void {
    this.#cancel = undefined;
    const [next] = this.#dueByName.values();
    if (next === undefined || this.#closed) return;
    const { clock, log } = this.#context;
    this.#cancel = clock.after(Math.max(0, next.at - clock.now()), () => {
      this.#removing = this.#removeDue().then(
        () => this.#schedule(),
        (error: unknown) => {
          log.warn("removing old events failed", { error });
          // A store that fails needs time.
          if (!this.#closed) this.#cancel = clock.after(retryMs, () => this.#schedule());
        },
      );
    });
  }

  /** One batch. The map forgets them when the store publishes their removal. */
  async #removeDue(): Promise<void> {
    const { clock, store } = this.#context;
    const due: Entry[] = [];
    for (const { entry, at } of this.#dueByName.values()) {
      if (at > clock.now() || due.length === batchSize) break;
      due.push(entry);
    }
    await store.write((transaction) => {
      for (const { key, revision } of due) {
        // One that has changed since is young again, and on its way to us.
        if (transaction.head(key)?.revision === revision) transaction.remove(key);
      }
    });
  }
}

const nameOf = ({ key }: Entry): string => `${key.namespace}/${key.name}`;

/** The newest of the times an Event may carry; clocks of clients may be wrong, so the caller limits it to now. */
function lastChangeOf(entry: Entry): Instant | undefined {
  const object = entry.object();
  const times = [object["lastTimestamp"], object["eventTime"], metaText(object, "creationTimestamp")];
  const known = times.flatMap((time) => (typeof time === "string" ? (parseInstant(time) ?? []) : []));
  return known.length === 0 ? undefined : Math.max(...known);
}
