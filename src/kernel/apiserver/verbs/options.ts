/** How a write is to be done. Absent members mean what they mean in a query without them. */
export interface WriteRequest {
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** Paths the body named twice, found by its decoder. */
  readonly duplicateFields?: readonly string[];
  readonly fieldManager?: string;
}

export interface DeleteRequest {
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}

export interface ListRequest {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly sendInitialEvents?: boolean;
}

export interface WatchRequest extends Omit<ListRequest, "limit" | "continue"> {
  readonly allowBookmarks?: boolean;
  readonly timeoutSeconds?: number;
}
