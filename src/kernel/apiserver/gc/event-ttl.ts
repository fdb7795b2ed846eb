import { DelayHeap } from "#kernel/kit/index.ts";
import { type Cancel, type Instant, parseInstant } from "#lib/base/index.ts";
import type { Collection, Entry, StoreEvent } from "../store/store.ts";
import type { ApiContext } from "../verbs/context.ts";
import { metaText } from "../verbs/metadata.ts";

const events: Collection = { group: "", resource: "events" };
const batchSize = 500;
const retryMs = 5000;

/** An Event as last seen. */
interface Known {
  readonly entry: Entry;
  readonly isUnread: boolean;
}

/** Removes Events `Limits.eventTtlMs` after their last change, and the oldest beyond `Limits.maxEvents`. */
export class EventTtl {
  readonly #context: ApiContext;
  readonly #known = new Map<string, Known>();
  readonly #ends = new DelayHeap();
  #startedAt: Instant = 0;
  #cancel: Cancel | undefined;
  /** The current timer or removal is for excess Events. */
  #isHurried = false;
  #removing: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(context: ApiContext) {
    this.#context = context;
  }

  /** Takes up existing Events without parsing them. */
  start(): void {
    const { store, clock } = this.#context;
    this.#startedAt = clock.now();
    for (const entry of store.page(events, {}).entries) {
      const created = parseInstant(entry.created);
      this.#watch(entry, Math.min(created ?? this.#startedAt, this.#startedAt), true);
    }
    this.#schedule();
  }

  observe(batch: readonly StoreEvent[]): void {
    for (const { type, entry } of batch) {
      if (entry.key.resource !== "events" || entry.key.group !== "") continue;
      if (type === "delete") this.#forget(nameOf(entry));
      else this.#watch(entry, this.#context.clock.now(), false);
    }
    if (this.#cancel !== undefined && (this.#isHurried || this.#excess() <= 0)) return;
    this.#cancel?.();
    this.#schedule();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    return this.#removing;
  }

  #watch(entry: Entry, changed: Instant, isUnread: boolean): void {
    const name = nameOf(entry);
    this.#known.set(name, { entry, isUnread });
    this.#ends.set(name, changed + this.#context.limits.eventTtlMs);
  }

  #forget(name: string): void {
    this.#known.delete(name);
    this.#ends.delete(name);
  }

  #excess(): number {
    return this.#ends.size - this.#context.limits.maxEvents;
  }

  /** At most one timer or removal at a time. */
  #schedule(): void {
    this.#cancel = undefined;
    this.#isHurried = this.#excess() > 0;
    const next = this.#ends.next();
    if (next === undefined || this.#closed) return;
    const { clock, log } = this.#context;
    this.#cancel = clock.after(this.#isHurried ? 0 : Math.max(0, next - clock.now()), () => {
      this.#isHurried = true;
      this.#removing = this.#removeDue().then(
        () => this.#schedule(),
        (error: unknown) => {
          log.warn("removing old events failed", { error });
          // The store failed: try later.
          if (!this.#closed) this.#cancel = clock.after(retryMs, () => this.#schedule());
        },
      );
    });
  }

  async #removeDue(): Promise<void> {
    const due = this.#takeDue();
    try {
      await this.#context.store.write((transaction) => {
        for (const { key, revision } of due) if (transaction.head(key)?.revision === revision) transaction.remove(key);
      });
    } catch (thrown) {
      for (const entry of due) if (this.#known.get(nameOf(entry))?.entry === entry) this.#ends.set(nameOf(entry), 0);
      throw thrown;
    }
  }

  /** Existing Events count from their own time. Removes some more than the excess, to do it less often. */
  #takeDue(): readonly Entry[] {
    const { clock, limits } = this.#context;
    const [now, due]: [Instant, Entry[]] = [clock.now(), []];
    const excess = this.#excess();
    const early = excess > 0 ? excess + limits.maxEvents / 100 : 0;
    for (let looked = 0; looked < batchSize; looked++) {
      const isEarly = looked < early;
      const name = this.#ends.takeDue(isEarly ? Infinity : now);
      if (name === undefined) break;
      const { entry, isUnread } = this.#known.get(name) ?? {};
      if (entry === undefined) continue;
      const changed =
        isUnread === true && !isEarly ? Math.min(lastChangeOf(entry) ?? this.#startedAt, this.#startedAt) : undefined;
      if (changed !== undefined && changed + limits.eventTtlMs > now) this.#watch(entry, changed, false);
      else due.push(entry);
    }
    return due;
  }
}

const nameOf = ({ key }: Entry): string => `${key.namespace}/${key.name}`;

/** The newest time in the Event; the caller limits it to now. */
function lastChangeOf(entry: Entry): Instant | undefined {
  const object = entry.object();
  const times = [object["lastTimestamp"], object["eventTime"], metaText(object, "creationTimestamp")];
  const known = times.flatMap((time) => (typeof time === "string" ? (parseInstant(time) ?? []) : []));
  return known.length === 0 ? undefined : Math.max(...known);
}
