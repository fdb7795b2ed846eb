import type { Clock, Logger } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { App } from "../app.ts";
import type { Definitions } from "../definitions/definition.ts";
import type { Clusters, Delivery } from "../delivery/delivery.ts";
import type { Providers } from "../ops/provider.ts";
import type { Courier } from "#kernel/couriers/index.ts";
import type { WorkflowSettings } from "./delays.ts";

/** What the steps of one object are executed with, for one pass. */
export interface PassParts {
  readonly cue: Cue;
  readonly providers: Providers;
  /** Snapshot of the revision, or the live ones. */
  readonly definitions: Definitions;
  readonly delivery: Delivery;
  readonly clusters: Clusters;
  /** Of the controller, for the variables of the run. */
  readonly client: ApiClient;
  /** With the rights of the object's writers, for its steps. */
  readonly actingClient: ApiClient;
  readonly courier: Courier;
  readonly settings: WorkflowSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Keeps what a step was executed with, for people. */
  readonly debug?: (stepId: string, text: string) => Promise<void>;
  /** Keeps the digest of an application that a pre-render step computed, with the step's end. */
  readonly noteOverlay?: (digest: string) => void;
  /** Lines that steps print. */
  readonly print?: (stepId: string, line: string) => void;
}

/** The application or run that the steps belong to. */
export interface Subject {
  readonly app: App;
  readonly owner: Stored;
  /** The ConfigMap of rendered resources, if there is one. */
  readonly resources?: string;
}
