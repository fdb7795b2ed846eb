import { SlipwayError } from "#lib/base/index.ts";

/** What can be wrong with the logs that are kept. */
export type LogStoreCode =
  /** The disk did not take lines. They are not there; who still has them sends them again. */
  | "log-lost"
  /** Bytes of a segment are not what was written. */
  | "log-damaged"
  /** The log of this build has been removed. */
  | "log-removed"
  /** The lines of a step have more gaps between their numbers than are kept track of. */
  | "log-gaps"
  /** More steps than a build may have here. */
  | "log-steps"
  /** The store was closed. */
  | "log-closed";

export const logError = (
  code: LogStoreCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);
