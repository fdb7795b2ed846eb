import type { Hono } from "hono";
import type { Cancel, Clock, Logger } from "#lib/base/index.ts";
import type { RestEnvironment } from "../http/rest-api.ts";
import type { ArtifactStore } from "../artifact-store/artifact-store.ts";
import type { LogStore } from "../log-store/log-store.ts";

export interface KnownBuilds {
  readonly has: (buildId: number) => boolean;
  /** True if the build exists and is not being deleted. */
  readonly takes: (buildId: number) => boolean;
  /** True if no more lines will be accepted. */
  readonly isOver: (buildId: number) => boolean;
  readonly onOver: (buildId: number, run: () => void) => Cancel;
  readonly tellStatus: (buildId: number, word: string) => Promise<void>;
}

export interface ResultStores {
  readonly logs: LogStore;
  readonly artifacts: ArtifactStore;
}

export interface ResultsApiParts {
  readonly stores: { readonly open: () => Promise<ResultStores> };
  readonly builds: KnownBuilds;
  readonly clock: Clock;
  readonly log: Logger;
}

export type Api = Hono<RestEnvironment>;
