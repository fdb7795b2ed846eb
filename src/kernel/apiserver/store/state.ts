import type { Image } from "./image.ts";
import type { ObjectCache } from "./object-cache.ts";
import type { EventRing } from "./ring.ts";
import type { Slab } from "./slab.ts";

/** What the store's readers, writers and committer share. */
export interface StoreState {
  readonly image: Image;
  readonly ring: EventRing;
  readonly cache: ObjectCache;
  /** Memory of new entries. Entries still current when their event is compacted are moved out. */
  readonly slab: Slab;
  readonly system: Map<string, Buffer>;
  readonly clusterUid: string;
  revision: number;
  compacted: number;
  /** Last revision given out; above `revision` while writes are under way. */
  head: number;
}
