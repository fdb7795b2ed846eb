import type { Clock, Logger, Millis } from "#lib/base/index.ts";
import type { ApiClient, Lister } from "#kernel/kit/index.ts";
import type { Notice, Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { RunAction } from "#kernel/dialect/index.ts";
import type { App } from "../app.ts";
import type { Definitions } from "../definitions/definition.ts";
import type { Clusters } from "../delivery/delivery.ts";
import type { LivePaths } from "../delivery/keep-state.ts";
import type { Actors } from "../delivery/rights.ts";
import type { TrackedObject } from "../delivery/tracker.ts";
import type { VelaDelivery } from "../delivery/vela-delivery.ts";
import type { Application } from "../kinds.ts";
import type { Providers } from "../ops/provider.ts";
import type { ChartRenderer } from "../render/charts.ts";
import type { Answers } from "../render/processing.ts";
import type { Settings } from "../settings.ts";
import type { Courier } from "#kernel/couriers/index.ts";
import type { StatusStore } from "./status-store.ts";

/** What a pass delivers with: clients of the writers, and the objects of one revision. */
export interface Tools {
  readonly app: App;
  readonly acting: ApiClient;
  readonly clusters: Clusters;
  readonly definitions: Definitions;
  readonly delivery: VelaDelivery;
}

/** What other objects of an application still need, such as a rollout that has not ended. */
export interface InUse {
  readonly isInUse?: (object: TrackedObject) => boolean;
  readonly revisionsInUse?: readonly string[];
  readonly livePaths?: LivePaths;
}

/** Decides for another kind of objects, such as a Rollout that a step waits for. True if it has acted. */
export type DecideStep = (step: string, isApproved: boolean) => Promise<boolean>;

/** What passes over applications and runs work with, all alike. */
export interface Services {
  /** The controller's own, for its records: revisions, trackers, variables, status. */
  readonly client: ApiClient;
  /** Whose rights count for what an application or a run does. */
  readonly actors: Actors;
  /** `local` is `acting`. */
  readonly clustersFor: (acting: ApiClient) => Clusters;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly cue: Cue;
  /** As they are now. */
  readonly definitions: Definitions;
  readonly providers: Providers;
  readonly courier: Courier;
  readonly charts?: ChartRenderer;
  readonly answers?: Answers;
  /** With the index `targetIndex`. */
  readonly actions: Lister<RunAction>;
}

/** What applications are reconciled with. */
export interface Parts extends Services {
  /** Changes of these objects trigger passes of the application from now on, instead of those named before. */
  readonly follow: (application: Stored<Application>, objects: readonly TrackedObject[]) => Promise<void>;
  readonly forget: (key: string) => void;
  /** The application is about to be gone. */
  readonly release: (application: Stored<Application>) => Promise<void>;
  /** This version needs no pass of its own. */
  readonly written: (application: Stored<Application>) => void;
  /** Whether an object that the application waits for has changed since the last pass. */
  readonly takeWoken: (key: string) => boolean;
  readonly record: (application: Stored<Application>, notice: Notice) => void;
  /** The same notice about an application only once while this process runs. */
  readonly recordOnce: (application: Stored<Application>, notice: Notice) => void;
  /** A line that a step printed. */
  readonly print: (application: Stored<Application>, step: string, line: string) => void;
}

/** One pass over one application. */
export interface Pass extends Parts {
  readonly key: string;
  readonly isWoken: boolean;
  readonly store: StatusStore;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** When to look again, at the latest; absent: when something changes. */
export interface Wake {
  readonly after?: Millis;
}

export const sooner = (...wakes: readonly (Wake | undefined)[]): Wake => {
  const times = wakes.flatMap((wake) => wake?.after ?? []);
  return times.length === 0 ? {} : { after: Math.max(0, Math.min(...times)) };
};
