import { type Cancel, type Instant, parseInstant } from "#lib/base/index.ts";
import type { Collection, Entry, StoreEvent } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { metaText } from "../verbs/metadata.ts";

const events: Collection = { group: "", resource: "events" };
const batchSize = 500;
const retryMs = 5000;

interface Due {
  readonly entry: Entry;
  readonly at: Instant;
}

/** Removes Events some time after their last change. One timer for all: every Event lives equally long. */
export class EventTtl {
  readonly #context: ApiContext;
  /** Oldest change first: a changed Event moves to the end. */
  readonly #dueByName = new Map<string, Due>();
  #cancel: Cancel | undefined;
  #closed = false;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  start(): void {
    const { store, clock } = this.#context;
    const now = clock.now();
    // When an Event changed last is not stored apart, so what was there before counts from what it says itself.
    const found = store.page(events, {}).entries.map((entry) => ({ entry, changed: lastChangeOf(entry) ?? now }));
    for (const { entry, changed } of found.sort((a, b) => a.changed - b.changed))
      this.#watch(entry, Math.min(changed, now));
    this.#schedule();
  }

  observe(batch: readonly StoreEvent[]): void {
    for (const { type, entry } of batch) {
      if (entry.key.resource !== "events" || entry.key.group !== "") continue;
      if (type === "delete") this.#dueByName.delete(nameOf(entry));
      else this.#watch(entry, this.#context.clock.now());
    }
    if (this.#cancel === undefined) this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #watch(entry: Entry, changed: Instant): void {
    const name = nameOf(entry);
    this.#dueByName.delete(name);
    this.#dueByName.set(name, { entry, at: changed + this.#context.limits.eventTtlMs });
  }

  #schedule(): void {
    this.#cancel = undefined;
    const [next] = this.#dueByName.values();
    if (next === undefined || this.#closed) return;
    const { clock, log } = this.#context;
    this.#cancel = clock.after(Math.max(0, next.at - clock.now()), () => {
      this.#removeDue().then(
        () => this.#schedule(),
        (error: unknown) => {
          log.warn("removing old events failed", { error });
          // A store that fails needs time.
          if (!this.#closed) this.#cancel = clock.after(retryMs, () => this.#schedule());
        },
      );
    });
  }

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

function lastChangeOf(entry: Entry): Instant | undefined {
  const object = entry.object();
  const times = [object["lastTimestamp"], object["eventTime"], metaText(object, "creationTimestamp")];
  const known = times.flatMap((time) => (typeof time === "string" ? (parseInstant(time) ?? []) : []));
  return known.length === 0 ? undefined : Math.max(...known);
}
