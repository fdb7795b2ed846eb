import { SlipwayError } from "#lib/base/index.ts";

export type ResultsCode =
  | "results-place"
  | "results-invalid"
  /** Only the living worker that writes the store knows its state. */
  | "results-live"
  | "log-taken"
  | "results-frozen"
  | "results-closed"
  | "results-lost"
  | "artifact-limit"
  | "artifact-name";

export const resultsError = (
  code: ResultsCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);
