/** Bounds that keep one caller from harming the others. Sizes in bytes, times in milliseconds. */
export interface Limits {
  readonly maxBodyBytes: number;
  /** Of all bodies under way together that are beyond 64 KiB or come in more than one piece. */
  readonly maxLargeBodyBytes: number;
  /** The same of one user. */
  readonly maxLargeBodyBytesPerUser: number;
  /** Objects, arrays and scalars in one body: what is done with a body takes time for each of them. */
  readonly maxBodyValues: number;
  /** Members of one object in a body. */
  readonly maxObjectMembers: number;
  /** JSON size of one stored object. */
  readonly maxObjectBytes: number;
  /** Nesting of JSON: every walk over an object is recursive. */
  readonly maxDepth: number;
  /** Of one JSON patch; each may copy a part of the object. */
  readonly maxPatchOperations: number;
  /** Characters of a label or field selector. */
  readonly maxSelectorLength: number;
  /** Watches are counted apart from requests, because they stay. */
  readonly maxWatches: number;
  readonly maxWatchesPerUser: number;
  /** Streams into Pods, each with a process or connections of its own. */
  readonly maxPodStreams: number;
  readonly maxPodStreamsPerUser: number;
  /** Requests under way at once, by kind; more are answered 429 with Retry-After. */
  readonly maxMutatingRequests: number;
  readonly maxReadingRequests: number;
  /** Unsent bytes after which a watcher that does not read is cut. */
  readonly maxWatchBufferBytes: number;
  /** The same of all watchers together: each may have an equal share. */
  readonly maxWatchBuffersBytes: number;
  /** How long a read waits for a revision that has not come yet. */
  readonly futureRevisionWaitMs: number;
  /** Between two bookmarks of a watch that asked for them. */
  readonly bookmarkIntervalMs: number;
  /** Since an Event last changed. */
  readonly eventTtlMs: number;
  /** Above it the oldest Events go before their time. */
  readonly maxEvents: number;
}

/** Kubernetes' own where it has such a limit (body 3 MiB, object as etcd's request of 1.5 MiB), else far above what clients need: the largest definitions known have 50,000 values. */
export const defaultLimits: Limits = {
  maxBodyBytes: 3 * 1024 * 1024,
  maxLargeBodyBytes: 32 * 1024 * 1024,
  maxLargeBodyBytesPerUser: 24 * 1024 * 1024,
  maxBodyValues: 150_000,
  maxObjectMembers: 10_000,
  maxObjectBytes: 1536 * 1024,
  maxDepth: 200,
  maxPatchOperations: 10_000,
  maxSelectorLength: 4096,
  maxWatches: 2000,
  maxWatchesPerUser: 500,
  maxPodStreams: 400,
  maxPodStreamsPerUser: 200,
  maxMutatingRequests: 200,
  maxReadingRequests: 400,
  maxWatchBufferBytes: 8 * 1024 * 1024,
  maxWatchBuffersBytes: 128 * 1024 * 1024,
  futureRevisionWaitMs: 3000,
  bookmarkIntervalMs: 60_000,
  eventTtlMs: 3_600_000,
  maxEvents: 10_000,
};
