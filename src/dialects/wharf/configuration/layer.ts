import type { Diagnostic } from "../definition/diagnostics.ts";
import type { Configuration } from "./keys.ts";

export interface Layer {
  readonly file: string;
  readonly configuration: Configuration;
  readonly diagnostics: readonly Diagnostic[];
  /** The file is in the working directory, which may be a stranger's. */
  readonly isOfDirectory?: boolean;
}

export type Settings = Pick<Layer, "configuration" | "diagnostics">;
