import type { JsonObject } from "#lib/base/index.ts";

/** A chart by its files, whose paths are relative to it. Packed sub-charts must be unpacked. */
export interface HelmRequest {
  readonly files: Readonly<Record<string, string>>;
  readonly release: { readonly name: string; readonly namespace: string; readonly revision?: number };
  readonly values: JsonObject;
  /** `v1.34.0`. */
  readonly kubeVersion?: string;
  /** `apps/v1`; default: those of a usual cluster. */
  readonly apiVersions?: readonly string[];
}

/** Objects in the order in which they are to be created; those of tests are left out. */
export interface HelmRendering {
  readonly objects: readonly JsonObject[];
  readonly notes?: string;
  /** Name and version. */
  readonly chart: string;
}
