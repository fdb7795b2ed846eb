import type { ServerResponse } from "node:http";
import type { ApiError, KubeObject } from "#kernel/model/index.ts";
import type { StoreEvent } from "../store/store.ts";
import { renderTable } from "../tables/render.ts";
import type { Selector } from "../verbs/selector.ts";
import { viewOf } from "../verbs/storage-view.ts";
import type { WatchChange } from "../watch/transitions.ts";
import type { WatchSink } from "../watch/watch.ts";
import { bookmarkObject } from "../watch/watch-queue.ts";
import { chunkOf, type TurnCache, writeChunk } from "./chunk.ts";
import { encodeItem, tableOf, type View } from "./representation.ts";
import type { SlowReaders } from "./slow-readers.ts";

/** Metrics of all watches of a server. */
export interface WatchMeter {
  open: number;
  events: number;
  dropped: number;
}

const newLine = Buffer.from("}\n");

/** One write per commit. Cuts readers `maxBuffer`, or their share of `maxBuffers`, behind. Not for initial events. */
export class WatchReply implements WatchSink {
  readonly #response: ServerResponse;
  readonly #view: () => View;
  /** Watchers with the same key get the same bytes. */
  readonly #viewKey: string;
  readonly #maxBuffer: number;
  readonly #maxBuffers: number;
  readonly #shared: TurnCache;
  readonly #meter: WatchMeter;
  readonly #readers: SlowReaders;
  readonly #isTable: boolean;
  #columnsSent = false;

  constructor(options: {
    readonly response: ServerResponse;
    /** Called for each batch, because ages in tables change. */
    readonly view: () => View;
    readonly selector: Selector;
    readonly maxBuffer: number;
    readonly maxBuffers: number;
    readonly shared: TurnCache;
    readonly meter: WatchMeter;
    readonly readers: SlowReaders;
  }) {
    const { resource, form, include } = options.view();
    this.#response = options.response;
    this.#view = options.view;
    this.#maxBuffer = options.maxBuffer;
    this.#maxBuffers = options.maxBuffers;
    this.#shared = options.shared;
    this.#meter = options.meter;
    this.#readers = options.readers;
    this.#isTable = form === "table";
    this.#viewKey = [resource.type.group, resource.type.version, form, include, options.selector.key].join("|");
    // Its `close` event has already passed.
    if (this.#response.destroyed) return;
    this.#meter.open += 1;
    this.#response.once("close", () => (this.#meter.open -= 1));
  }

  changes(changes: readonly WatchChange[], source: readonly StoreEvent[] | undefined): void {
    // Judged before adding: one large commit does not cut a reader that keeps up.
    const most = Math.min(this.#maxBuffer, this.#maxBuffers / Math.max(1, this.#meter.open));
    if (source !== undefined && this.#response.writableLength > most) {
      this.#meter.dropped += 1;
      this.#response.destroy();
      return;
    }
    this.#meter.events += changes.length;
    const isFirst = this.#isTable && !this.#columnsSent;
    this.#columnsSent = true;
    const encode = () => {
      const view = this.#view();
      return chunkOf(changes.flatMap((change, index) => encodeChange(view, change, isFirst && index === 0)));
    };
    // `drained` waits on the response, so initial events go through it.
    if (source === undefined) this.#response.write(encode().bytes);
    else writeChunk(this.#response, isFirst ? encode() : this.#shared.get(source, this.#viewKey, encode));
  }

  /** A line with only a revision; `initial` ends the initial events of a WatchList. */
  bookmark(revision: number, initial: boolean): void {
    const view = this.#view();
    const object = bookmarkIn(view, bookmarkObject(view.resource, revision, initial));
    this.#response.write(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  }

  /** The normal end, after an ERROR line if refused: the status line was sent long ago. */
  end(refusal?: ApiError): void {
    if (refusal !== undefined)
      this.#response.write(`${JSON.stringify({ type: "ERROR", object: refusal.toStatus() })}\n`);
    this.#response.end();
  }

  drained(): Promise<void> {
    return this.#readers.drained(this.#response);
  }
}

function bookmarkIn({ form, include, resource, now }: View, plain: KubeObject): object {
  if (form === "partial") return { ...plain, kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
  if (form !== "table") return plain;
  const { resourceVersion = "" } = plain.metadata;
  const table = renderTable(resource, [], {
    now,
    includeObject: include,
    metadata: { resourceVersion },
    withColumns: false,
  });
  return { ...table, rows: [{ cells: resource.columns.map(() => null), object: plain }] };
}

/** Only the first event of a table has columns. */
function encodeChange(view: View, { type, entry }: WatchChange, withColumns: boolean): readonly Buffer[] {
  const head = Buffer.from(`{"type":"${type}","object":`);
  if (view.form !== "table") return [head, encodeItem(view, entry), newLine];
  return [head, Buffer.from(JSON.stringify(tableOf(view, viewOf(view.resource, entry), withColumns))), newLine];
}
