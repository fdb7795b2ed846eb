import { SlipwayError } from "#lib/base/index.ts";

/** What can be wrong with the artifacts that are kept. */
export type ArtifactStoreCode =
  /** More bytes than one artifact may have, or more artifacts than a build. */
  | "artifact-limit"
  /** The bytes are not those that were announced. */
  | "artifact-digest"
  /** There is another artifact of this number, with other bytes. */
  | "artifact-taken"
  /** A file of test results that is none. */
  | "test-results"
  /** The build was removed while something was added to it. */
  | "artifacts-removed";

export const artifactError = (
  code: ArtifactStoreCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);
