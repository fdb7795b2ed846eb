import type { Clock, Millis } from "#lib/base/index.ts";
import { apiVersionOf, badRequest, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import type { WatchEvent, WatchOptions } from "../client/api-client.ts";
import { checkReached, readRevision } from "./memory-paging.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { View } from "./memory-view.ts";

const bookmarkEvery: Millis = 60_000;

export interface WatchSource {
  readonly store: MemoryStore;
  readonly clock: Clock;
  readonly type: ResourceType;
  readonly resource: string;
  readonly view: View;
  /** True once the watch must end although nobody asked for it: the client is closed or the connection dropped. */
  isCut(): boolean;
}

/** The events of one watch; reads the shared history with its own cursor, so that a slow reader holds nothing back. */
export async function* watchChanges(source: WatchSource, options: WatchOptions): AsyncGenerator<WatchEvent> {
  const { store, view, clock } = source;
  const endsAt = options.timeout === undefined ? undefined : clock.now() + options.timeout;
  let cursor = startOf(store, options);
  if (cursor === undefined) {
    cursor = store.revision;
    for (const object of store.at(source.resource, cursor)) {
      if (options.signal.aborted) return;
      if (view.matches(object)) yield { type: "ADDED", object };
    }
    if (options.sendInitialEvents && options.allowBookmarks) yield bookmark(source.type, cursor, true);
  }
  let bookmarkAt = clock.now() + bookmarkEvery;
  while (!options.signal.aborted && !source.isCut()) {
    for (const change of store.since(cursor)) {
      cursor = change.revision;
      const event = change.resource === source.resource ? view.eventOf(change) : undefined;
      if (event !== undefined) yield event;
      if (options.signal.aborted || source.isCut()) return;
    }
    const isOver = endsAt !== undefined && clock.now() >= endsAt;
    if (options.allowBookmarks && (isOver || clock.now() >= bookmarkAt)) {
      yield bookmark(source.type, cursor, false);
      bookmarkAt = clock.now() + bookmarkEvery;
    }
    if (isOver) return;
    if (store.revision === cursor) {
      const wakeAt = Math.min(endsAt ?? Infinity, options.allowBookmarks ? bookmarkAt : Infinity);
      await changeOr(store, clock, wakeAt - clock.now(), options.signal);
    }
  }
}

/** The revision to start after; undefined when the present objects come first. */
function startOf(store: MemoryStore, options: WatchOptions): number | undefined {
  const { resourceVersion, sendInitialEvents, resourceVersionMatch } = options;
  if (sendInitialEvents !== undefined && resourceVersionMatch !== "NotOlderThan") {
    throw badRequest("sendInitialEvents needs resourceVersionMatch=NotOlderThan");
  }
  const revision = resourceVersion === undefined ? 0 : readRevision(resourceVersion);
  checkReached(store, revision);
  if (sendInitialEvents === true) return undefined;
  if (sendInitialEvents === false && revision === 0) return store.revision;
  return revision === 0 ? undefined : revision;
}

function bookmark(type: ResourceType, revision: number, endsInitial: boolean): WatchEvent {
  const metadata: KubeObject["metadata"] = {
    resourceVersion: String(revision),
    ...(endsInitial ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
  };
  return { type: "BOOKMARK", object: { apiVersion: apiVersionOf(type), kind: type.kind, metadata } };
}

function changeOr(store: MemoryStore, clock: Clock, delay: Millis, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      forget();
      cancel?.();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const forget = store.onceChanged(done);
    const cancel = delay === Infinity ? undefined : clock.after(delay, done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
