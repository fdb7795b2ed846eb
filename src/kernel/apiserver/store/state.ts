import type { Image } from "./image.ts";
import type { ObjectCache } from "./object-cache.ts";
import type { EventRing } from "./ring.ts";
import type { Slab } from "./slab.ts";

/** What a store is at a moment: the parts that its readers, its writers and its committer share. */
export interface StoreState {
  readonly image: Image;
  /** Events (compacted, revision] of all collections. */
  readonly ring: EventRing;
  readonly cache: ObjectCache;
  /** Where the records of new entries go, which their bytes are a part of. Those still current when their event is compacted are moved out. */
  readonly slab: Slab;
  readonly system: Map<string, Buffer>;
  readonly clusterUid: string;
  /** Last published revision. */
  revision: number;
  compacted: number;
  /** Last revision given out; above `revision` while writes are on their way. */
  head: number;
}
