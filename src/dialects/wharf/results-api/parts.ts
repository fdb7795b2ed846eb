import type { Hono } from "hono";
import type { Cancel, Clock, Logger } from "#lib/base/index.ts";
import type { RestEnvironment } from "../http/rest-api.ts";
import type { ArtifactStore } from "../artifact-store/artifact-store.ts";
import type { LogStore } from "../log-store/log-store.ts";

/** What is known of builds beside their results. */
export interface KnownBuilds {
  /** Whether there is one of this number. */
  readonly has: (buildId: number) => boolean;
  /** Whether results of it are taken: it is there, and nobody has deleted it. */
  readonly takes: (buildId: number) => boolean;
  /** Whether nothing more is to come of it. Every line of it was accepted before that. */
  readonly isOver: (buildId: number) => boolean;
  /** Calls `run` once when it is over. */
  readonly onOver: (buildId: number, run: () => void) => Cancel;
  /** Stores what is told of it in a word; refuses words that are none. */
  readonly tellStatus: (buildId: number, word: string) => Promise<void>;
}

/** What is kept of builds outside of their objects. */
export interface ResultStores {
  readonly logs: LogStore;
  readonly artifacts: ArtifactStore;
}

/** What routes and services of results are made of. */
export interface ResultsApiParts {
  /** Opened by the first who asks, once for all. */
  readonly stores: { readonly open: () => Promise<ResultStores> };
  readonly builds: KnownBuilds;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Where routes are added, with their whole paths. */
export type Api = Hono<RestEnvironment>;
