import type { Identity } from "../authz/identity.ts";
import type { WritePermit } from "../authz/write-permit.ts";

/** How a write is to be done. Absent members mean what they mean in a query without them. */
export interface WriteRequest {
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** Paths the body named twice, found by its decoder. */
  readonly duplicateFields?: readonly string[];
  /** Who owns the fields written, as the caller names itself; an apply must have it. */
  readonly fieldManager?: string;
  /** The program of the caller, from its User-Agent: the manager of those who name none. Absent for this process itself. */
  readonly program?: string;
  /** Who asks, for kinds that keep it; several where a controller acts for all of them. Absent for this process itself. */
  readonly writers?: readonly Identity[];
  /** Asked before anything is stored, where the caller's rights depend on what that is. */
  readonly permit?: WritePermit;
  /** An apply takes over fields that others own. */
  readonly force?: boolean;
}

/** The DeleteOptions of a request, from its body or its query. */
export interface DeleteRequest {
  readonly propagationPolicy?: string;
  /** The older way to say `propagationPolicy: Orphan`; not to be set together with a policy. */
  readonly orphanDependents?: boolean;
  readonly gracePeriodSeconds?: number;
  /** What the object must still be; 409 otherwise. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}

export interface ListRequest {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  /** Objects of one page; 0 or absent means all. */
  readonly limit?: number;
  /** The token of the page before; empty counts as absent. */
  readonly continue?: string;
  readonly sendInitialEvents?: boolean;
}

/** `sendInitialEvents` belongs to watches only; a list that has it is refused. */
export interface WatchRequest extends Omit<ListRequest, "limit" | "continue"> {
  /** Bookmarks are sent once a minute and at the end. */
  readonly allowBookmarks?: boolean;
  readonly timeoutSeconds?: number;
}
