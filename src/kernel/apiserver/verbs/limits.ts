/** Bounds that keep one caller from harming the others. Sizes in bytes, times in milliseconds. */
export interface Limits {
  readonly maxBodyBytes: number;
  /** JSON size of one stored object. */
  readonly maxObjectBytes: number;
  readonly maxDepth: number;
  readonly maxPatchOperations: number;
  readonly maxSelectorLength: number;
  readonly maxWatches: number;
  readonly maxWatchesPerUser: number;
  readonly maxMutatingRequests: number;
  readonly maxReadingRequests: number;
  /** Unsent bytes after which a watcher that does not read is cut. */
  readonly maxWatchBufferBytes: number;
  /** How long a read waits for a revision that has not come yet. */
  readonly futureRevisionWaitMs: number;
  readonly bookmarkIntervalMs: number;
  readonly eventTtlMs: number;
}

export const defaultLimits: Limits = {
  maxBodyBytes: 3 * 1024 * 1024,
  maxObjectBytes: 1536 * 1024,
  maxDepth: 200,
  maxPatchOperations: 10_000,
  maxSelectorLength: 4096,
  maxWatches: 2000,
  maxWatchesPerUser: 500,
  maxMutatingRequests: 200,
  maxReadingRequests: 400,
  maxWatchBufferBytes: 8 * 1024 * 1024,
  futureRevisionWaitMs: 3000,
  bookmarkIntervalMs: 60_000,
  eventTtlMs: 3_600_000,
};
