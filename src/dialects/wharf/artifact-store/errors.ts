import { SlipwayError } from "#lib/base/index.ts";

export type ArtifactStoreCode =
  | "artifact-limit"
  | "artifact-digest"
  | "artifact-taken"
  | "test-results"
  | "artifacts-removed";

export const artifactError = (
  code: ArtifactStoreCode,
  message: string,
  options: { readonly hint?: string; readonly cause?: unknown } = {},
): SlipwayError => new SlipwayError(code, message, options);
