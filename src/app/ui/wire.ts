import type { ActionName, ObjectRef, RunPhase, RunView, StepPhase } from "#engine/index.ts";
import type { RunGraph, StartParameter } from "#kernel/dialect/index.ts";
import type { JsonObject, Problem } from "#lib/base/index.ts";

export type { StartParameter };

// What the server sends to the page, all below `/slipway/`. Times are milliseconds since the epoch, of the server's
// clock.

/** A run in lists, about 300 bytes. */
export interface RunSummary {
  readonly ref: ObjectRef;
  readonly dialect: string;
  /** What people call it; the object's name is in `ref`. */
  readonly name: string;
  readonly phase: RunPhase;
  readonly nativePhase: string;
  readonly done: number;
  readonly total: number;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** One line, cut. */
  readonly message?: string;
  /** What it was made from: a template, project, application or machine. Runs of one source are shown together. */
  readonly source?: { readonly kind: string; readonly name: string };
  /** Steps that wait for a person. */
  readonly approvals?: number;
  readonly actions: readonly ActionName[];
}

/**
 * `GET /slipway/runs`. Query: `limit`, `continue`, `phase`, `dialect`, `namespace`, `label`, `text`, `source`, `since`,
 * `longer`, `shorter`, and `sort`: `age` (the newest first), `duration`, `name` or `phase`; a minus sign reverses it.
 */
export interface RunPage {
  readonly items: readonly RunSummary[];
  readonly continue?: string;
  /** Of all runs that the other filters leave. */
  readonly counts: Readonly<Partial<Record<RunPhase, number>>>;
  readonly total: number;
  readonly resourceVersion: string;
  /** Kinds of runs that are not listed, or not all of them. */
  readonly gaps?: readonly RunGap[];
  /** The server's clock, by which the page corrects its own. */
  readonly now: number;
}

export interface RunGap {
  readonly dialect: string;
  readonly kind: string;
  readonly why: "forbidden" | "not-served";
  /** The namespace whose runs are listed nevertheless. */
  readonly only?: string;
}

/** `GET /slipway/runs/DIALECT/NAMESPACE/NAME`: everything that one run shows. Numbers of the view are of the engine. */
export interface RunDetail {
  readonly summary: RunSummary;
  readonly view: RunView;
  readonly graph: RunGraph;
  /** The text of `slipway describe`. */
  readonly description: string;
  /** Whether `GET /slipway/runs/…/again` has a document of another such run. */
  readonly canRunAgain: boolean;
  readonly resourceVersion: string;
}

/** `GET /slipway/runs/DIALECT/NAMESPACE/NAME/again`: another run of the same, as by `slipway resubmit`. */
export interface RunAgain {
  /** YAML. */
  readonly text: string;
}

/** `GET /slipway/sources`: sources with their last thirty runs, the newest first. */
export interface SourceSummary {
  readonly dialect: string;
  /** API group of the source and its runs. */
  readonly group: string;
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly runs: readonly SourceRun[];
  readonly medianMs?: number;
  /** From 0 to 1, of runs that have ended. */
  readonly successRate?: number;
}

/** `name` is the object's. */
export type SourceRun = Pick<RunSummary, "name" | "phase" | "createdAt" | "startedAt" | "finishedAt">;

/** `GET /slipway/sources/DIALECT/NAMESPACE/KIND/NAME`: the outcome of each step in the last fifty runs. */
export interface SourceGrid {
  readonly source: SourceSummary;
  readonly steps: readonly GridStep[];
}

export interface GridStep {
  readonly id: string;
  readonly name: string;
  readonly group?: string;
  /** How long it takes, where it has ended. */
  readonly medianMs?: number;
  /** One for each run of the source, in their order; null where the run has no such step. */
  readonly cells: readonly (GridCell | null)[];
}

export interface GridCell {
  readonly phase: StepPhase;
  readonly ms?: number;
  /** Above 1: it was tried again. */
  readonly attempt?: number;
}

/** Of a subscription to `approvals`: steps that wait for a person. */
export interface WaitingApproval {
  readonly run: RunSummary;
  readonly step: string;
  readonly message: string;
  readonly since?: number;
  /** Values that are given along. */
  readonly asks?: readonly StartParameter[];
}

/** Of a subscription to `fleet`: agents and machines. */
export interface FleetEntry {
  readonly ref: ObjectRef;
  readonly kind: "agent" | "machine";
  readonly dialect: string;
  readonly name: string;
  readonly state: string;
  readonly task?: string;
  readonly lastSeen?: number;
  readonly run?: ObjectRef;
}

/**
 * `GET /slipway/logs/DIALECT/NAMESPACE/NAME?step=…&attempt=…&from=…&count=…`; a negative `from` counts from the end.
 * `…/raw` has the bytes of the whole log as they were written.
 */
export interface LogPage {
  /** Number of the first line, from 0; higher than asked for if lines before it are not kept. */
  readonly from: number;
  readonly lines: readonly LogLine[];
  readonly total: number;
  /** No more lines will come. */
  readonly isOver: boolean;
  /** Of a log without lines: why the server has none. */
  readonly why?: string;
}

export interface LogLine {
  readonly text: string;
  readonly time?: number;
  readonly stream?: "stdout" | "stderr";
}

/** `GET /slipway/logs/…/search?text=…`: numbers of lines, all counted, the first 10,000 listed. */
export interface LogMatches {
  readonly count: number;
  readonly lines: readonly number[];
}

/** `GET /slipway/system`. */
export interface SystemState {
  readonly version: string;
  readonly user: string;
  readonly ports: readonly { readonly serves: string; readonly address: string; readonly trouble?: string }[];
  readonly conditions: readonly { readonly type: string; readonly isTrue: boolean; readonly message: string }[];
  readonly figures: Readonly<Record<string, number>>;
}

/** `POST /slipway/lint`: a text as for `slipway lint`, or another run of an object as by `slipway run KIND/NAME`. */
export type LintRequest =
  | { readonly text: string }
  | { readonly start: ObjectRef; readonly arguments?: Readonly<Record<string, string>> };

/** All problems, with positions in the text. Nothing is stored. */
export interface LintAnswer {
  readonly problems: readonly Problem[];
  readonly documents: readonly LintedDocument[];
}

export interface LintedDocument {
  /** What can be created, as it would be sent; absent if the document has errors. */
  readonly object?: JsonObject;
  /** Absent for objects of no dialect. */
  readonly dialect?: string;
  /** Of a run. */
  readonly graph?: RunGraph;
}

/** `GET /slipway/startables`: stored objects that `slipway run KIND/NAME` runs, the 500 first of each kind. */
export interface StartableObject {
  readonly ref: ObjectRef;
  readonly dialect: string;
  /** What `LintRequest.arguments` may set, as far as the object declares it. */
  readonly parameters: readonly StartParameter[];
}

/**
 * A subscription of the one stream: `POST /slipway/stream` with `{subscriptions}`. Those to `approvals` and `fleet`
 * begin with a `BOOKMARK` whose `object` has all items.
 */
export interface Subscription {
  readonly id: string;
  readonly what: "runs" | "run" | "kind" | "log" | "approvals" | "fleet";
  /**
   * As the query of the matching GET; for `run` also `dialect`, `namespace`, `name`; for `kind` `group`, `resource`.
   */
  readonly params: Readonly<Record<string, string>>;
  readonly resourceVersion?: string;
}

/**
 * A line of the stream's answer. `HELLO` is the first and carries the token for `POST /slipway/stream/TOKEN`. A
 * `BOOKMARK` without an id is a sign of life, with `{away: REASON}` of a server whose cluster does not answer.
 */
export interface StreamLine {
  readonly id: string;
  readonly type: "HELLO" | "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "GONE" | "END" | "ERROR";
  readonly token?: string;
  readonly object?: unknown;
  readonly rv?: string;
}

/**
 * `object` of the lines of a `runs` subscription: with `BOOKMARK`, how many there are now; otherwise a `RunSummary`.
 */
export type RunsBookmark = Pick<RunPage, "counts" | "total">;

/**
 * `object` of `MODIFIED` of a `run` subscription: everything but the steps that have not changed. `graph` and `order`
 * only if steps came or went. A server may send a whole `RunDetail` instead.
 */
export interface RunChange {
  readonly summary: RunSummary;
  readonly view: Omit<RunDetail["view"], "steps">;
  readonly steps: readonly RunDetail["view"]["steps"][number][];
  /** Ids of all steps, as in the view. */
  readonly order?: readonly string[];
  readonly graph?: RunGraph;
  readonly description?: string;
  readonly resourceVersion: string;
}

/**
 * Body of `POST /slipway/stream` and of `POST /slipway/stream/TOKEN`: all subscriptions that there are from now on,
 * known by their ids.
 */
export interface Subscriptions {
  readonly subscriptions: readonly Subscription[];
}

// `/slipway/api` stands before a path of the Kubernetes API:
// `/slipway/api/apis/slipway.dev/v1alpha1/namespaces/default/runactions`. Pages and files need no session:
// `/slipway/assets/…` are the files of `dist/ui/manifest.json`, and any other GET that accepts HTML answers with
// `dist/ui/index.html`. A link that logs in is `/slipway/#code=CODE`; the page posts the code to `/slipway/session`.
// Every request of the page carries the header `X-Slipway-Request` with the session's key, which the answer to the
// login has.
