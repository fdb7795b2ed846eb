import type { Diagnostic } from "../definition/diagnostics.ts";
import type { Configuration } from "./keys.ts";

/** Settings of one place, and what is wrong there. */
export interface Layer {
  /** The place, as people are to see it: a path, or `environment`. */
  readonly file: string;
  readonly configuration: Configuration;
  readonly diagnostics: readonly Diagnostic[];
  /** It lies in the working directory, which may have come from anywhere. */
  readonly isOfDirectory?: boolean;
}

/** What all places together say. */
export type Settings = Pick<Layer, "configuration" | "diagnostics">;
