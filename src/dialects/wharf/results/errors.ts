import { SlipwayError } from "#lib/base/index.ts";

/** What can be wrong with the results of a build. */
export type ResultsCode =
  /** The directory for results cannot be made, or belongs to somebody else. */
  | "results-place"
  /** A file of the store is not what it should be. */
  | "results-invalid"
  /** The worker that writes the store is alive: it alone can tell what is in it. */
  | "results-live"
  /** A step's log has a writer, or has had one. */
  | "log-taken"
  /** The store is frozen: nothing is added any more. */
  | "results-frozen"
  /** The store was closed while somebody followed it. */
  | "results-closed"
  /** The disk did not take it. */
  | "results-lost"
  /** More artifacts, or more bytes of one, than the worker keeps. */
  | "artifact-limit"
  /** An artifact whose name cannot be kept. */
  | "artifact-name";

export const resultsError = (
  code: ResultsCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);
