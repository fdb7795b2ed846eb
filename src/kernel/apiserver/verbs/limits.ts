/** Bounds that keep one caller from harming others, in bytes and milliseconds. */
export interface Limits {
  readonly maxBodyBytes: number;
  /** All bodies under way that exceed 64 KiB or come in several pieces. */
  readonly maxLargeBodyBytes: number;
  readonly maxLargeBodyBytesPerUser: number;
  /** Objects, arrays and scalars in one body, each of which takes time. */
  readonly maxBodyValues: number;
  /** Of one object in a body. */
  readonly maxObjectMembers: number;
  /** JSON size of one stored object. */
  readonly maxObjectBytes: number;
  /** Nesting of JSON: every walk over an object is recursive. */
  readonly maxDepth: number;
  /** Of one JSON patch; each may copy a part of the object. */
  readonly maxPatchOperations: number;
  /** Characters of a label or field selector. */
  readonly maxSelectorLength: number;
  /** Counted apart from requests, because they last. */
  readonly maxWatches: number;
  readonly maxWatchesPerUser: number;
  /** Streams into Pods, each with a process or connection. */
  readonly maxPodStreams: number;
  readonly maxPodStreamsPerUser: number;
  /** Requests at once; more are answered 429 with Retry-After. */
  readonly maxMutatingRequests: number;
  readonly maxReadingRequests: number;
  /** Unsent bytes after which a watcher is cut. */
  readonly maxWatchBufferBytes: number;
  /** For all watchers together, in equal shares. */
  readonly maxWatchBuffersBytes: number;
  /** How long a read waits for a future revision. */
  readonly futureRevisionWaitMs: number;
  /** Between two bookmarks of a watch. */
  readonly bookmarkIntervalMs: number;
  /** Since an Event last changed. */
  readonly eventTtlMs: number;
  /** Above it the oldest Events are removed early. */
  readonly maxEvents: number;
}

/** Kubernetes' limits, or far above clients' needs: the largest known definitions have 50,000 values. */
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
