import {
  type Clock,
  deepFreeze,
  formatMicroTime,
  inParallel,
  type Instant,
  type Logger,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import { Event, isNotFound, type KubeObject, type ObjectReference, type Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { TokenBucket } from "../client/token-bucket.ts";
import type { Schedule } from "./controller.ts";
import { Fifo } from "./fifo.ts";
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
  /** One sentence for people. Cut to 1024 bytes. */
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

/**
 * Tells users what happens, without ever holding up or failing who tells. Best effort: whoever needs a record of a run reads its
 * status.
 */
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
  /** Waits in the queue. */
  isQueued: boolean;
  /** The count that is being written; 0 when none is. A repetition in the meantime is written afterwards. */
  writing: number;
}

/** What an object has told lately, oldest first, by what it says, and how much more it may tell. */
interface Teller {
  readonly budget: TokenBucket;
  readonly told: Map<string, Occurrence>;
}

/** Eight thousand runs may tell of their start and end at once; one commit of the embedded server takes 256 of them. */
const maxQueued = 16_384;
const maxTellers = 4096;
/**
 * Repetitions are looked for among so many of an object's events. What is remembered is not garbage soon: with 32 a server that runs
 * short workflows kept 30 MB of them.
 */
const maxTold = 8;
const maxNote = 1024;
/** Holds the event loop for 2 to 4 ms. */
const batchSize = 256;
/**
 * What is recorded in a turn goes into the commit that the turn's other writes go into, so one batch does not wait until the one
 * before is durable: waiting, a recorder beside 200 runs in flight fell behind by thousands.
 */
const parallelBatches = 8;
const parallelWrites = 8;
/** The same event within this time is one series. */
const seriesWindow: Millis = 6 * 60_000;
/** A series is written at most this often. */
const seriesPause: Millis = 1000;
/** Losses are logged at most this often. */
const lossPause: Millis = 60_000;
const spamLimit = { perSecond: 1 / 300, burst: 25 };

/**
 * Writes `events.k8s.io/v1`: equal events of one object become one with a series count; an object gets 25 events at once and one
 * more every five minutes. What is recorded in one turn of the event loop is written together: 256 new events in one durable write
 * where the client can do that, else at most eight requests at a time. Bounds: 16,384 unwritten events; the last 8 events of each
 * of 4096 objects are remembered. Beyond them the newest are dropped, counted and told of in the log once a minute, and the oldest
 * are forgotten.
 */
export function eventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  dropped = 0;
  readonly #options: EventRecorderOptions;
  readonly #schedule: Schedule;
  readonly #tellers = new RecentMap<Teller>(maxTellers);
  readonly #idle = new Set<() => void>();
  readonly #queue = new Fifo<Occurrence>();
  /** New ones in the queue: they end a pause. */
  #unnamed = 0;
  #batches = 0;
  #names = 0;
  #lastAt: Instant = 0;
  #lastTime = formatMicroTime(0);
  #lossToldAt = -Infinity;
  #cancelPause: (() => void) | undefined;
  #isScheduled = false;
  #isHurried = false;
  #isClosed = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#schedule = options.schedule ?? setImmediate;
  }

  record(note: EventNote): void {
    if (this.#isClosed) return;
    const now = this.#options.clock.now();
    const teller = this.#tellerOf(note.regarding);
    const text = `${note.reason} ${note.note}`;
    const known = teller.told.get(text);
    if (known !== undefined && isSame(known.note, note) && now - known.lastAt < seriesWindow) {
      known.count++;
      known.lastAt = now;
      return this.#enqueue(known, now);
    }
    if (!teller.budget.tryTake(now)) return void this.dropped++;
    const occurrence: Occurrence = {
      note,
      firstAt: now,
      lastAt: now,
      count: 1,
      name: undefined,
      isQueued: false,
      writing: 0,
    };
    remember(teller.told, text, occurrence);
    this.#enqueue(occurrence, now);
  }

  flush(): Promise<void> {
    if (this.#isIdle) return Promise.resolve();
    this.#isHurried = true;
    this.#wake();
    return new Promise((resolve) => this.#idle.add(resolve));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #tellerOf({ uid, kind, namespace, name }: ObjectReference): Teller {
    const key = uid ?? `${kind}/${namespace}/${name}`;
    const known = this.#tellers.get(key);
    if (known !== undefined) return known;
    const teller: Teller = { budget: new TokenBucket(this.#options.perObject ?? spamLimit), told: new Map() };
    this.#tellers.set(key, teller);
    return teller;
  }

  /** At most once in the queue; a repetition of what is being written waits for the end of that write. */
  #enqueue(occurrence: Occurrence, now: Instant): void {
    if (occurrence.isQueued || occurrence.writing > 0) return;
    if (this.#queue.size >= maxQueued) return this.#lose(now);
    occurrence.isQueued = true;
    this.#queue.push(occurrence);
    if (occurrence.name === undefined) this.#unnamed++;
    this.#wake();
  }

  /** Whoever reads events must be able to find out that there were more. */
  #lose(now: Instant): void {
    this.dropped++;
    if (now - this.#lossToldAt < lossPause) return;
    this.#lossToldAt = now;
    const { controller, log } = this.#options;
    log.warn("events are lost: more are recorded than can be written", { controller, dropped: this.dropped });
  }

  get #isIdle(): boolean {
    return this.#queue.size === 0 && this.#batches === 0;
  }

  /** Writes at the end of the turn what can be written then. Called whenever that may have become more. */
  #wake(): void {
    const most = this.#options.client.createMany === undefined ? 1 : parallelBatches;
    if (this.#isScheduled || this.#queue.size === 0 || this.#batches >= most) return;
    // Repetitions wait a moment, so that a thousand of them are a few writes; anything new, or a flush, ends the wait.
    if (this.#unnamed === 0 && !this.#isHurried) return this.#pause();
    this.#writeSoon();
  }

  #pause(): void {
    this.#cancelPause ??= this.#options.clock.after(seriesPause, () => this.#writeSoon());
  }

  #writeSoon(): void {
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      // Never rejects: what fails is counted.
      void this.#writeBatch(this.#takeBatch());
      this.#wake();
    });
  }

  #takeBatch(): readonly Occurrence[] {
    const batch: Occurrence[] = [];
    while (batch.length < batchSize) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      next.isQueued = false;
      next.writing = next.count;
      if (next.name === undefined) this.#unnamed--;
      batch.push(next);
    }
    return batch;
  }

  /** Never rejects: each event is written, or counted as dropped. */
  async #writeBatch(batch: readonly Occurrence[]): Promise<void> {
    this.#batches++;
    const repeated = batch.filter(({ name }) => name !== undefined);
    const isDone = await this.#createTogether(batch.filter(({ name }) => name === undefined));
    await inParallel(isDone ? repeated : batch, (occurrence) => this.#write(occurrence), parallelWrites);
    this.#batches--;
    for (const occurrence of batch) {
      const isBehind = occurrence.count > occurrence.writing;
      occurrence.writing = 0;
      if (isBehind) this.#enqueue(occurrence, occurrence.lastAt);
    }
    this.#wake();
    if (!this.#isIdle) return;
    this.#isHurried = false;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }

  /** True when all of these new events were stored in one write; else none of them was, and each is tried by itself. */
  async #createTogether(fresh: readonly Occurrence[]): Promise<boolean> {
    const { client, log } = this.#options;
    if (client.createMany === undefined || fresh.length === 0) return fresh.length === 0;
    const events = fresh.map((occurrence) => this.#eventOf(occurrence, this.#nameFor(occurrence)));
    try {
      await client.createMany(Event, events);
    } catch (thrown) {
      log.debug("events were refused together, trying each", { error: messageOf(thrown) });
      return false;
    }
    fresh.forEach((occurrence, index) => (occurrence.name = events[index]?.metadata.name));
    return true;
  }

  async #write(occurrence: Occurrence): Promise<void> {
    try {
      if (occurrence.name === undefined) await this.#create(occurrence);
      else await this.#extend(occurrence, occurrence.name);
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }

  async #create(occurrence: Occurrence): Promise<void> {
    const name = this.#nameFor(occurrence);
    await this.#options.client.create(Event, this.#eventOf(occurrence, name));
    occurrence.name = name;
  }

  /** Counts and time of a series are all that changes. */
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

  /** Frozen, so that the embedded server takes it as it is instead of copying it. */
  #eventOf(occurrence: Occurrence, name: string): KubeObject {
    const { note, firstAt, count } = occurrence;
    const { controller, instance } = this.#options;
    const { regarding, related, type, reason, action } = note;
    // Fields of this kind stand beside metadata, not under spec.
    const event = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name, namespace: namespaceOf(note) },
      eventTime: this.#timeOf(firstAt),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      regarding,
      type,
      reason,
      action,
      note: cutTo(maxNote, note.note),
      ...(related === undefined ? {} : { related }),
      ...(count === 1 ? {} : { series: seriesOf(occurrence) }),
    };
    return deepFreeze(event);
  }

  // What is recorded together happened at the same time.
  #timeOf(at: Instant): string {
    if (at !== this.#lastAt) {
      this.#lastAt = at;
      this.#lastTime = formatMicroTime(at);
    }
    return this.#lastTime;
  }

  /** The object's name and sixteen hexadecimal digits that no other event of this object has. */
  #nameFor({ note: { regarding } }: Occurrence): string {
    const counter = (this.#names++ % 0x100000).toString(16).padStart(5, "0");
    const unique = `${this.#options.clock.now().toString(16).padStart(11, "0")}${counter}`;
    return `${nameStart(regarding.name ?? "unknown")}.${unique}`;
  }

  #onFailure(thrown: unknown): void {
    this.dropped++;
    this.#options.log.debug("an event was not written", { error: messageOf(thrown) });
  }
}

/** As `events.k8s.io/v1` has it: how often in all, and when last. */
const seriesOf = ({ count, lastAt }: Occurrence) => ({ count, lastObservedTime: formatMicroTime(lastAt) });

/** Events live beside their object; those of cluster-scoped objects in `default`. */
const namespaceOf = ({ regarding }: EventNote): string =>
  regarding.namespace === undefined || regarding.namespace === "" ? "default" : regarding.namespace;

/** For two events of one object with the same reason and note. */
const isSame = (a: EventNote, b: EventNote): boolean =>
  a.note === b.note && a.action === b.action && a.type === b.type && a.related?.uid === b.related?.uid;

function remember(told: Map<string, Occurrence>, text: string, occurrence: Occurrence): void {
  // Last again, if it was there before.
  told.delete(text);
  told.set(text, occurrence);
  if (told.size <= maxTold) return;
  for (const oldest of told.keys()) {
    told.delete(oldest);
    return;
  }
}

/** The text, or as much of its beginning as has at most so many bytes in UTF-8. */
function cutTo(most: number, text: string): string {
  if (text.length * 3 <= most) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  return text.slice(0, read);
}

/** What is left of the 253 characters of a name, with the point before the digits; it may not end in a dash or point. */
const longestStart = 253 - 17;
const nameStart = (name: string): string =>
  name.length <= longestStart ? name : name.slice(0, longestStart).replace(/[-.]+$/, "");

/** A reference that an event about this object carries. */
export function regardingOf({ apiVersion, kind, metadata }: Stored): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  // Written out twice: this is made for every event.
  if (namespace === undefined) return { apiVersion, kind, name, uid, resourceVersion };
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
