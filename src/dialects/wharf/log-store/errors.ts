import { SlipwayError } from "#lib/base/index.ts";

export type LogStoreCode =
  /** The lines were not stored; the sender must repeat them. */
  "log-lost" | "log-damaged" | "log-removed" | "log-gaps" | "log-steps" | "log-closed";

export const logError = (
  code: LogStoreCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);
