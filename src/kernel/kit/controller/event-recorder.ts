import {
  type Clock,
  deepFreeze,
  formatMicroTime,
  getOrAdd,
  inParallel,
  type Instant,
  type Logger,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import {
  Event,
  isNotFound,
  type KubeObject,
  type Notice,
  type ObjectReference,
  type Stored,
} from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import { TokenBucket } from "../client/token-bucket.ts";
import type { Schedule } from "./controller.ts";
import { Fifo } from "./fifo.ts";
import { RecentMap } from "./recent-map.ts";

export interface EventNote extends Notice {
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
}

export interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly controller: string;
  readonly instance: string;
  readonly schedule?: Schedule;
  /** The limit of one object; default: 25 events at once, and one more every five minutes. */
  readonly perObject?: { readonly perSecond: number; readonly burst: number };
}

/** Records events without ever delaying or failing the caller. Best effort: the status of a run is its record. */
export interface EventRecorder {
  record(note: EventNote): void;
  /** Notes that were not written: over a limit, or refused by the server. */
  readonly dropped: number;
  /** Resolves when everything recorded so far was written or dropped. */
  flush(): Promise<void>;
  /** Flushes, then records nothing more. */
  close(): Promise<void>;
}

interface Occurrence {
  readonly note: EventNote;
  readonly firstAt: Instant;
  lastAt: Instant;
  count: number;
  name: string | undefined;
  isQueued: boolean;
  /** The count being written; 0 if none is. Later repetitions are written afterwards. */
  writing: number;
}

/** The recent events of an object, oldest first, and its limit. */
interface Teller {
  readonly budget: TokenBucket;
  readonly told: Map<string, Occurrence>;
}

/** 8,000 runs may record their start and end at once. */
const maxQueued = 16_384;
/** A server of short workflows has three recorders, which kept 30 MB with 4,096. */
const maxTellers = 1024;
/** Repetitions are looked for among the last events of an object. With 32, a server of short workflows kept 30 MB. */
const maxTold = 8;
const maxNote = 1024;
/** Blocks the event loop for 2 to 4 ms. */
const batchSize = 256;
/** Batches do not wait for each other: a recorder beside 200 runs would fall behind by thousands. */
const parallelBatches = 8;
const parallelWrites = 8;
/** The same event within this time extends the series. */
const seriesWindow: Millis = 6 * 60_000;
const seriesPause: Millis = 1000;
const lossPause: Millis = 60_000;
const spamLimit = { perSecond: 1 / 300, burst: 25 };

/**
 * Writes `events.k8s.io/v1`: equal events of one object become a series, within the limits above. New events of one
 * turn are written together: 256 in one durable write if the client can do that, else up to eight requests at a time.
 * Beyond 16,384 unwritten events the newest are dropped, counted and logged.
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
  /** New events in the queue: they end a pause. */
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
    return getOrAdd(this.#tellers, key, () => ({
      budget: new TokenBucket(this.#options.perObject ?? spamLimit),
      told: new Map(),
    }));
  }

  /** A repetition of an event that is being written waits for the write. */
  #enqueue(occurrence: Occurrence, now: Instant): void {
    if (occurrence.isQueued || occurrence.writing > 0) return;
    if (this.#queue.size >= maxQueued) return this.#lose(now);
    occurrence.isQueued = true;
    this.#queue.push(occurrence);
    if (occurrence.name === undefined) this.#unnamed++;
    this.#wake();
  }

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

  /** Called whenever there may be more to write. */
  #wake(): void {
    const most = this.#options.client.createMany === undefined ? 1 : parallelBatches;
    if (this.#isScheduled || this.#queue.size === 0 || this.#batches >= most) return;
    // Repetitions wait a moment, so that a thousand of them are a few writes.
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
      // Never rejects.
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

  /** True if all were stored in one write; else none was, and each is tried by itself. */
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

  async #extend(occurrence: Occurrence, name: string): Promise<void> {
    const ref = { type: Event, namespace: namespaceOf(occurrence.note), name };
    try {
      await this.#options.client.patch(ref, { type: "merge", body: { series: seriesOf(occurrence) } });
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown;
      await this.#create(occurrence);
    }
  }

  /** Frozen, so that the embedded server need not copy it. */
  #eventOf(occurrence: Occurrence, name: string): KubeObject {
    const { note, firstAt, count } = occurrence;
    const { controller, instance } = this.#options;
    const { regarding, related, type, reason, action } = note;
    // Fields of this kind stand beside metadata.
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

  // Recorded together, formatted once.
  #timeOf(at: Instant): string {
    if (at !== this.#lastAt) {
      this.#lastAt = at;
      this.#lastTime = formatMicroTime(at);
    }
    return this.#lastTime;
  }

  /** The object's name and sixteen unique hexadecimal digits. */
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

const seriesOf = ({ count, lastAt }: Occurrence) => ({ count, lastObservedTime: formatMicroTime(lastAt) });

/** Events of cluster-scoped objects are in `default`. */
const namespaceOf = ({ regarding }: EventNote): string =>
  regarding.namespace === undefined || regarding.namespace === "" ? "default" : regarding.namespace;

/** For events with the same object, reason and note. */
const isSame = (a: EventNote, b: EventNote): boolean =>
  a.note === b.note && a.action === b.action && a.type === b.type && a.related?.uid === b.related?.uid;

function remember(told: Map<string, Occurrence>, text: string, occurrence: Occurrence): void {
  told.delete(text);
  told.set(text, occurrence);
  if (told.size <= maxTold) return;
  for (const oldest of told.keys()) {
    told.delete(oldest);
    return;
  }
}

/** The longest prefix of at most so many bytes in UTF-8. */
function cutTo(most: number, text: string): string {
  if (text.length * 3 <= most) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(most));
  return text.slice(0, read);
}

/** 253 characters without the point and the digits; must not end in a dash or point. */
const longestStart = 253 - 17;
const nameStart = (name: string): string =>
  name.length <= longestStart ? name : name.slice(0, longestStart).replace(/[-.]+$/, "");

export function regardingOf({ apiVersion, kind, metadata }: Stored): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  // Written out twice: this is made for every event.
  if (namespace === undefined) return { apiVersion, kind, name, uid, resourceVersion };
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}
