import type { Clock, Instant, JsonObject, JsonValue, Logger, Result } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { HttpRequest, OutsideRequest } from "#kernel/couriers/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import type { App, Step } from "../app.ts";
import type { Clusters, Delivery } from "../delivery/delivery.ts";

/** What an action did, and what it means for the step. */
export type ActionResult =
  /** `result` is unified with the action's value. `isSensitive`: read from a Secret. */
  | { readonly kind: "continue"; readonly result?: JsonValue; readonly isSensitive?: boolean }
  | { readonly kind: "wait"; readonly message?: string }
  /** `fail` ends the step, `break` ends the workflow. */
  | { readonly kind: "fail" | "break"; readonly message: string }
  | { readonly kind: "suspend"; readonly message?: string; readonly until?: Instant }
  /** Retried with backoff. */
  | { readonly kind: "error"; readonly message: string };

/** The durable variables of a run. */
export interface VariableStore {
  get(name: string): JsonValue | undefined;
  set(name: string, value: JsonValue, isSensitive?: boolean): void;
  isSensitive(name: string): boolean;
}

/** Small durable notes of one step, kept between its attempts and across restarts. */
export interface StepNotes {
  get(key: string): JsonValue | undefined;
  set(key: string, value: JsonValue): void;
}

export interface ActionScope {
  readonly app: App;
  readonly step: Step;
  readonly stepId: string;
  /** Path of the action within the step. */
  readonly path: string;
  readonly context: JsonObject;
  /** With the rights of the application's writers. */
  readonly client: ApiClient;
  /** The controller's own, for its records: revisions, and the status of its own kinds, which no writer may set. */
  readonly records: ApiClient;
  readonly cue: Cue;
  readonly clusters: Clusters;
  readonly delivery: Delivery;
  readonly variables: VariableStore;
  readonly notes: StepNotes;
  /** Number of the execution. It is the same again only after a crash, when nothing of its end was stored. */
  readonly execution: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The message of the step, for `#Message`. */
  say(message: string): void;
  /** Shows the object in the step's status, as `resourceRef`. */
  refer?(object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
  }): void;
  /** What an earlier execution of the step has shown by `refer`. */
  readonly referred?: { readonly kind?: string };
  /** Adds a line to the step's log. */
  print(line: string): void;
  /**
   * Does what must not happen twice. After a crash the recorded result is returned; if it was begun and its end is
   * unknown, the answer is an error and it is not done again. `refused`: why an answer means that it was not done.
   */
  once(request: OutsideRequest, refused?: (answer: JsonObject) => string | undefined): Promise<ActionResult>;
  /** The object with the action's `patch`, which the comments of the template merge. The error is for people. */
  readonly patched: (base: JsonObject) => Promise<Result<JsonObject, string>>;
  /** Keeps the digest of an application that a pre-render step computed in the status. */
  noteOverlay?(digest: string): void;
  /** Does what may happen again, such as GET. */
  ask(request: HttpRequest): Promise<ActionResult>;
}

/** The implementation of one `#provider` and `#do`. The value is concrete, except for `wait`. */
export type Provider = (value: JsonObject, scope: ActionScope) => Promise<ActionResult>;

/** By `provider/do`: `kube/apply`. */
export type Providers = Readonly<Record<string, Provider>>;
