import { type Clock, formatMicroTime, type Instant, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import { Event, isNotFound, type KubeObject, type ObjectReference, type Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { TokenBucket } from "../client/token-bucket.ts";
import type { Schedule } from "./controller.ts";
import { RecentMap } from "./recent-map.ts";

/** Something a user wants to know about an object. */
export interface EventNote {
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  readonly type: "Normal" | "Warning";
  /** CamelCase, for machines: `StepSucceeded`. */
  readonly reason: string;
  /** What the controller did or tried: `Reconcile`, `Start`. */
  readonly action: string;
  /** One sentence for people. Cut to 1024 characters. */
  readonly note: string;
}

/** Where events go and who tells them. */
export interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** `slipway.dev/workflow-controller`, and the process it runs in. */
  readonly controller: string;
  readonly instance: string;
  readonly schedule?: Schedule;
  /** How much one object may tell; 25 events at once and one more every five minutes unless told. */
  readonly perObject?: { readonly perSecond: number; readonly burst: number };
}

/** Tells users what happens, without ever holding up or failing who tells. */
export interface EventRecorder {
  record(note: EventNote): void;
  /** Notes that were not written: too many of one object, too many at once, or refused by the server. */
  readonly dropped: number;
  /** Resolves when everything recorded so far was written or dropped. */
  flush(): Promise<void>;
  /** Flushes, then records nothing more. */
  close(): Promise<void>;
}

/** An event that was or will be written, and how often it happened. */
interface Occurrence {
  readonly note: EventNote;
  readonly firstAt: Instant;
  lastAt: Instant;
  count: number;
  /** The name it is stored under; absent until it is. */
  name: string | undefined;
  isQueued: boolean;
}

const maxQueued = 1000;
const maxRemembered = 4096;
const maxNote = 1024;
const parallelWrites = 8;
/** The same event within this time is one series. */
const seriesWindow: Millis = 6 * 60_000;
/** A series is written at most this often. */
const seriesPause: Millis = 1000;
const spamLimit = { perSecond: 1 / 300, burst: 25 };

/**
 * Writes `events.k8s.io/v1`: equal events of one object become one with a series count; an object gets 25 events at once and one
 * more every five minutes; what is recorded in one turn of the event loop is written together, at most eight requests at a time.
 * Bounds: 1000 unwritten events, 4096 remembered ones; beyond them the newest are dropped and the oldest forgotten.
 */
export function eventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  dropped = 0;
  readonly #options: EventRecorderOptions;
  readonly #schedule: Schedule;
  readonly #recent = new RecentMap<Occurrence>(maxRemembered);
  readonly #budgets = new RecentMap<TokenBucket>(maxRemembered);
  readonly #idle = new Set<() => void>();
  #queue: Occurrence[] = [];
  #names = 0;
  #endPause: () => void = () => undefined;
  #isWriting = false;
  #isHurried = false;
  #isClosed = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#schedule = options.schedule ?? setImmediate;
  }

  record(note: EventNote): void {
    if (this.#isClosed) return;
    const now = this.#options.clock.now();
    const key = seriesKey(note);
    const known = this.#recent.get(key);
    if (known !== undefined && now - known.lastAt < seriesWindow) {
      known.count++;
      known.lastAt = now;
      return this.#enqueue(known);
    }
    if (!this.#mayTell(note, now)) return void this.dropped++;
    const occurrence: Occurrence = { note, firstAt: now, lastAt: now, count: 1, name: undefined, isQueued: false };
    this.#recent.set(key, occurrence);
    this.#enqueue(occurrence);
  }

  flush(): Promise<void> {
    if (!this.#isWriting) return Promise.resolve();
    this.#isHurried = true;
    this.#endPause();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #mayTell({ regarding }: EventNote, now: Instant): boolean {
    const key = regarding.uid ?? `${regarding.kind}/${regarding.namespace}/${regarding.name}`;
    const budget = this.#budgets.get(key) ?? new TokenBucket(this.#options.perObject ?? spamLimit);
    this.#budgets.set(key, budget);
    return budget.tryTake(now);
  }

  #enqueue(occurrence: Occurrence): void {
    if (occurrence.isQueued) return;
    if (this.#queue.length >= maxQueued) return void this.dropped++;
    occurrence.isQueued = true;
    this.#queue.push(occurrence);
    if (occurrence.name === undefined) this.#endPause();
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#schedule(() => void this.#writeAll().catch((thrown: unknown) => this.#onFailure(thrown)));
  }

  async #writeAll(): Promise<void> {
    while (this.#queue.length > 0) {
      // Repetitions wait a moment, so that a thousand of them are a few writes; anything new, or a flush, ends the wait.
      if (this.#queue.every(({ name }) => name !== undefined)) await this.#pause();
      const batch = this.#queue;
      this.#queue = [];
      await inParallel(batch, parallelWrites, (occurrence) => this.#write(occurrence));
    }
    this.#isWriting = false;
    this.#isHurried = false;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  #pause(): Promise<void> {
    if (this.#isHurried) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(seriesPause, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }

  async #write(occurrence: Occurrence): Promise<void> {
    occurrence.isQueued = false;
    try {
      if (occurrence.name === undefined) await this.#create(occurrence);
      else await this.#extend(occurrence, occurrence.name);
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }

  async #create(occurrence: Occurrence): Promise<void> {
    const name = `${occurrence.note.regarding.name ?? "unknown"}.${this.#unique()}`;
    await this.#options.client.create(Event, this.#eventOf(occurrence, name));
    occurrence.name = name;
  }

  async #extend(occurrence: Occurrence, name: string): Promise<void> {
    const ref = { type: Event, namespace: namespaceOf(occurrence.note), name };
    try {
      await this.#options.client.patch(ref, { type: "merge", body: { series: seriesOf(occurrence) } });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
      // Its time to live was over.
      await this.#create(occurrence);
    }
  }

  #eventOf(occurrence: Occurrence, name: string): KubeObject {
    const { note, firstAt, count } = occurrence;
    const { controller, instance } = this.#options;
    const { regarding, related, type, reason, action } = note;
    // Fields of this kind stand beside metadata, not under spec.
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace: namespaceOf(note) },
      eventTime: formatMicroTime(firstAt),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      regarding,
      type,
      reason,
      action,
      note: note.note.slice(0, maxNote),
      ...(related === undefined ? {} : { related }),
      ...(count === 1 ? {} : { series: seriesOf(occurrence) }),
    };
    return event;
  }

  /** Sixteen hexadecimal digits that no other event of this object has. */
  #unique(): string {
    const counter = (this.#names++ % 0x100000).toString(16).padStart(5, "0");
    return `${this.#options.clock.now().toString(16).padStart(11, "0")}${counter}`;
  }

  #onFailure(thrown: unknown): void {
    this.dropped++;
    this.#options.log.debug("an event was not written", { error: messageOf(thrown) });
  }
}

const seriesOf = ({ count, lastAt }: Occurrence) => ({ count, lastObservedTime: formatMicroTime(lastAt) });

/** Events live beside their object; those of cluster-scoped objects in `default`. */
const namespaceOf = ({ regarding }: EventNote): string =>
  regarding.namespace === undefined || regarding.namespace === "" ? "default" : regarding.namespace;

const seriesKey = ({ regarding, related, type, reason, action, note }: EventNote): string =>
  [
    regarding.uid ?? `${regarding.namespace}/${regarding.name}`,
    regarding.kind,
    related?.uid,
    type,
    reason,
    action,
    note,
  ].join("\n");

async function inParallel<T>(items: readonly T[], width: number, run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const lane = async (): Promise<void> => {
    for (const item of rest) await run(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
}

/** A reference that an event about this object carries. */
export function regardingOf({ apiVersion, kind, metadata }: Stored): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid, resourceVersion };
}
