import type { Identity } from "../authz/identity.ts";
import type { WritePermit } from "../authz/write-permit.ts";
import type { ServedResource } from "../kinds/served-resource.ts";

/** Options of a write, with the defaults of the query parameters. */
export interface WriteRequest {
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  /** Duplicate keys of the body, found by its decoder. */
  readonly duplicateFields?: readonly string[];
  /** The owner of the fields written; required for an apply. */
  readonly fieldManager?: string;
  /** The program in User-Agent: the default manager. Absent for this process itself. */
  readonly program?: string;
  /** The callers, for kinds that record them; several where a controller acts for all of them. */
  readonly writers?: readonly Identity[];
  /** Called before storing, where permissions depend on the object. */
  readonly permit?: WritePermit;
  /** Take over fields of other managers. */
  readonly force?: boolean;
}

/** A process names no writers of its own writes. */
export const isReviewed = ({ review, reviews }: Pick<ServedResource, "review" | "reviews">, request: WriteRequest) =>
  review !== undefined && (reviews !== "others" || request.writers !== undefined);

export interface DeleteRequest {
  readonly propagationPolicy?: string;
  /** The older form of `propagationPolicy: Orphan`; excludes a policy. */
  readonly orphanDependents?: boolean;
  readonly gracePeriodSeconds?: number;
  /** 409 unless the object still has these. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
}

export interface ListRequest {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: string;
  /** Objects per page; 0 or absent means all. */
  readonly limit?: number;
  /** The token of the page before; empty counts as absent. */
  readonly continue?: string;
  readonly sendInitialEvents?: boolean;
}

/** `sendInitialEvents` is for watches only. */
export interface WatchRequest extends Omit<ListRequest, "limit" | "continue"> {
  /** Send bookmarks once a minute and at the end. */
  readonly allowBookmarks?: boolean;
  readonly timeoutSeconds?: number;
}
