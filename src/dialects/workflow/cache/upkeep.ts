import type { Clock, Millis } from "#lib/base/index.ts";
import {
  type ApiClient,
  ensureDeleted,
  type Lister,
  type Reconciler,
  type ReconcileResult,
} from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import { CacheEntry } from "./kind.ts";
import { ageOf } from "./lookup.ts";

/** Whatever `maxAgeSeconds` of a step allows. */
export const keptFor: Millis = 30 * 24 * 60 * 60_000;
/** Per namespace; the oldest are deleted. */
export const mostEntries = 1_000;
const longestWait: Millis = 24 * 60 * 60_000;

export interface CacheUpkeepParts {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly entries: Lister<CacheEntry>;
}

/** Deletes entries that are too old, and the oldest in a full namespace. O(entries of the namespace) per new one. */
export function cacheUpkeep({ client, clock, entries }: CacheUpkeepParts): Reconciler {
  return {
    async reconcile(request, { signal }): Promise<ReconcileResult | undefined> {
      const entry = entries.get(keyOf(request));
      if (entry === undefined || entry.metadata.deletionTimestamp !== undefined) return undefined;
      const now = clock.now();
      // The entry itself may be among the surplus.
      const { namespace } = entry.metadata;
      for (const old of surplusOf(entries.list(namespace === undefined ? {} : { namespace })))
        await ensureDeleted(client, CacheEntry, old, { signal });
      const left = keptFor - ageOf(entry, now);
      if (left > 0) return { requeueAfter: Math.min(left, longestWait) };
      await ensureDeleted(client, CacheEntry, entry, { signal });
      return undefined;
    },
  };
}

function surplusOf(all: readonly Stored<CacheEntry>[]): readonly Stored<CacheEntry>[] {
  if (all.length <= mostEntries) return [];
  const text = ({ spec, metadata }: Stored<CacheEntry>): string => `${spec.storedTime} ${metadata.name}`;
  return [...all].sort((a, b) => (text(a) < text(b) ? -1 : 1)).slice(0, all.length - mostEntries);
}
