import type { Clock, FieldPath, Instant, JsonObject, JsonValue, Position, Problem, Result } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import type { ActionName, Dialect as DialectName, GroupKind, ObjectRef, RunDialect } from "#engine/index.ts";
import type { KubeObject, StatusCause, Writer } from "#kernel/model/index.ts";
import type { ApiClient, Manager } from "#kernel/kit/index.ts";
import type { Agents } from "./agents.ts";
import type { CacheExplanation, CacheQuestion } from "./cached-result.ts";
import type { ControllerParts, LogOpener } from "./controller-parts.ts";
import type { RunGraph } from "./graph.ts";
import type { Report } from "./problems.ts";
import type { RunAction } from "./run-action.ts";
import type { Simulation } from "./simulation.ts";
import type { StartParameter } from "./start-parameter.ts";

/** A document of a user's file, such as a `YamlDocument`. */
export interface SourceDocument {
  readonly value: JsonValue;
  /** The position of the value at a path, or of its nearest existing parent. */
  readonly positionOf: (path: FieldPath) => Position;
}

export interface ReadOptions {
  /** Arguments of the run as texts, read by the types of its parameters. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Objects it may refer to: checked ones of the same files, or from a server. */
  readonly beside?: readonly KubeObject[];
}

/** Objects that affect how a document is read, and where it names them. */
export type References = readonly { readonly ref: ObjectRef; readonly path: FieldPath }[];

/** With errors `object` is undefined. */
export interface DocumentReading {
  /** Complete and lossless. */
  readonly object: KubeObject | undefined;
  readonly problems: readonly Problem[];
}

export interface CheckedDocument {
  readonly source: SourceDocument;
  readonly object: KubeObject;
}

export interface DocumentReader {
  /** True if the document is of this dialect, valid or not. */
  detect(document: SourceDocument): boolean;
  /** For files that are not YAML documents; called before other readers. */
  fromText?(text: string, file: string): SourceDocument | undefined;
  /** Reports every problem at once. */
  read(document: SourceDocument, options?: ReadOptions): DocumentReading;
  /** Objects that `read` should get as `beside`; without them less is checked. */
  references(document: SourceDocument): References;
  /** Problems of `read`, and valid but unwise settings. */
  lint(document: SourceDocument, options?: Pick<ReadOptions, "beside">): readonly Problem[];
  /** Runs of templates for documents without a run. `hardware` is the machine named for them. */
  impliedRuns?(
    documents: readonly CheckedDocument[],
    named: { readonly hardware?: string },
  ): Result<readonly SourceDocument[], readonly Problem[]>;
  /** Problems that only show in several documents together, by document. */
  readTogether(documents: readonly CheckedDocument[]): readonly (readonly Problem[])[];
  /** Problems of `readTogether`, and valid but unwise settings. */
  lintTogether(documents: readonly CheckedDocument[]): readonly (readonly Problem[])[];
}

/** Pure checks before a server stores an object of the dialect. */
export interface Admission extends GroupKind {
  /** `validate` covers the schema, and is called for objects that the schema refuses too. */
  readonly coversSchema: boolean;
  /** Changes a new object. `writer` is its creator, if that was authenticated. */
  prepareForCreate(object: JsonObject, writer?: Writer): JsonObject;
  /** Changes an object that replaces `old`, for what `prepareForCreate` completes. */
  prepareForUpdate?(object: JsonObject, old: JsonObject): JsonObject;
  /** What the controller does with its writers' rights (`Manager.clientFor`). Who changes it becomes a writer. */
  actsOn?(object: JsonObject): JsonValue | undefined;
  /**
   * The part of a status that only controllers and administrators may write, because controllers rely on it. With the
   * stored status `before`, others' commands can be left out.
   */
  ownStatus?(status: JsonObject, before?: JsonObject): JsonValue | undefined;
  /** Works out in steps what `validate` takes of the same large object, which does not change in between. */
  ahead?(object: JsonObject): Iterable<undefined>;
  /** Everything wrong with the object; with `old`, with this change. */
  validate(object: JsonObject, old?: JsonObject, server?: AdmissionServer): Admitted;
  /**
   * Checks that take other objects or an evaluation, of a valid object before it is stored. An object may change
   * between its review and its write, so controllers check again.
   */
  review?(object: JsonObject, parts: ReviewParts): Promise<Admitted>;
  /** Why clients may not delete the object now, such as its use by others; none: they may. */
  reviewDeletion?(object: JsonObject, parts: ReviewParts): Promise<readonly string[]>;
  /** `others`: the server's own writes need no review. */
  readonly reviews?: "others";
}

/** `client` has the rights of the server. */
export interface ReviewParts {
  readonly client: Pick<ApiClient, "get" | "list">;
  readonly templates: ControllerParts["templates"];
  /** Of the dialect, as its controllers have them. */
  readonly options?: unknown;
}

/** Absent in tools that only check documents. */
export interface AdmissionServer {
  /** Whether objects of this kind can be created now. */
  readonly serves: (apiVersion: string, kind: string) => boolean;
}

/** Admitted without causes. */
export interface Admitted {
  readonly causes: readonly StatusCause[];
  readonly warnings: readonly string[];
}

export interface DescribeOptions {
  readonly now: Instant;
  /** Created objects and neighbours, as far as known. */
  readonly children?: readonly KubeObject[];
  /** Kinds of neighbours that the caller may not see. */
  readonly hidden?: readonly string[];
}

/** Objects shown with a run that are not its own: those with these names, or all in every namespace. */
export interface Neighbours {
  readonly apiVersion: string;
  readonly kind: string;
  readonly names?: readonly string[];
}

/** The part of a run that an object belongs to. */
export interface Place {
  readonly step: string;
  /** Of an item, its own. */
  readonly attempt: number;
  /** Index of a fan-out's item. */
  readonly item?: number;
}

export interface RunCommands {
  /** Others are refused before they are stored. */
  readonly actions: readonly ActionName[];
  /** Further checks of a command that its schema accepts. The controller decides whether it is possible now. */
  check(command: RunAction["spec"], report: Report): void;
}

/** Finds the Pods of a run, in its namespace. */
export interface RunPods {
  /** Label selector, which also finds runs created by steps. */
  selector(run: KubeObject): string;
  /** Undefined if the object does not say. */
  placeOf(object: KubeObject): Place | undefined;
}

export interface PreviewParts {
  /** Of the environment. */
  readonly variable: (name: string) => string | undefined;
  readonly templates: ControllerParts["templates"];
  readonly signal: AbortSignal;
}

/** Every possible plan in the order of the documents, and all problems. */
export interface RunPreviews {
  /** For people, ending with a newline, and as data. */
  readonly plans: readonly { readonly text: string; readonly data: JsonValue }[];
  readonly problems: readonly Problem[];
}

/** Logs that a dialect keeps without Pods: the subresource `log` of its runs. */
export interface RunLogs {
  /** The query parameter for a part of a run. */
  readonly parameter: string;
  /** Requests may be `numbered`; see `LogRequest`. */
  readonly numbersLines?: boolean;
  /** Reads a log from files; absent if controllers report how. See `LogOpener`. */
  open?(place: LogPlace, ...what: Parameters<LogOpener>): ReturnType<LogOpener>;
}

export interface LogPlace extends Pick<ControllerParts, "directory"> {
  readonly clock: Clock;
}

/** The kinds of a dialect that are runs. A dialect may lack the optional members. */
export interface Runs extends RunDialect<KubeObject> {
  /** The dialect's further names for its runs. */
  readonly aliases?: readonly string[];
  /** Kinds of runs that are desired states: running a document again updates the object of its name. */
  readonly declared?: readonly GroupKind[];
  /** Each run is a machine and what it has to do. */
  readonly areMachines?: boolean;
  /** What a run was made from, for lists that show runs of one source together. */
  source?(object: KubeObject): { readonly kind: string; readonly name: string } | undefined;
  /** Several lines for people, without colours. */
  describe(object: KubeObject, options: DescribeOptions): string;
  readonly accepts: RunCommands;
  /** Further objects that affect a run, for `describe`. */
  readonly neighbours?: (object: KubeObject) => readonly Neighbours[];
  /** Absent if something else runs the steps. */
  readonly pods?: RunPods;
  /** Absent if Pods have all logs. */
  readonly logs?: RunLogs;
  /** Why a stored run does not start before it is changed. */
  refusal?(run: KubeObject): string | undefined;
  /** A new run of the same specification; with `reuse`, it takes results of unchanged steps. */
  readonly resubmission?: (object: KubeObject, options: { readonly reuse: boolean }) => KubeObject;
  /** The same run with only this main step and its dependencies. */
  readonly upTo?: (object: KubeObject, step: string) => KubeObject;
  /** What runs would do, if `simulation` cannot tell. A promise, because code is loaded first. */
  readonly preview?: (documents: readonly CheckedDocument[], parts: PreviewParts) => Promise<RunPreviews>;
  /** Also for an object that was never stored; `beside` are objects whose steps it may take. */
  graph(object: KubeObject, beside?: readonly KubeObject[]): RunGraph;
  /** Reads the texts by the types that the step declares. A promise, because code is loaded first. */
  readonly approvalValues?: (
    object: KubeObject,
    step: string,
    texts: Readonly<Record<string, string>>,
  ) => Promise<Result<JsonObject, string>>;
  /** Explains a stored run's cached results. A promise, because code is loaded first. */
  readonly explainCache?: (object: KubeObject, question: CacheQuestion) => Promise<Result<CacheExplanation, string>>;
  /** `beside` are objects it may refer to. Returns problems that only show when it runs. Loads code first. */
  readonly simulation?: (
    object: KubeObject,
    beside: readonly KubeObject[],
  ) => Promise<Result<Simulation, readonly Problem[]>>;
}

/** A kind other than runs with a description of its own. */
export interface Described extends GroupKind {
  /** Kinds of controlled objects, to be passed as `children`. */
  readonly controls: readonly { readonly apiVersion: string; readonly kind: string }[];
  /** Text for people. A promise, because code is loaded first. */
  describe(object: KubeObject, options: DescribeOptions): Promise<string>;
}

/** A kind whose objects can be run: `slipway run wft/NAME`. */
export interface Startable extends GroupKind {
  readonly aliases?: readonly string[];
  /** The document of a new run of a stored object; the server completes its name. */
  run(object: KubeObject, now: Instant): JsonObject;
  /** As far as the object declares them. */
  parameters?(object: KubeObject): readonly StartParameter[];
}

/** Command line, server and web interface know dialects only by this interface. */
export interface Dialect {
  readonly name: DialectName;
  /** Kinds that the server must store, runs among them. */
  readonly kinds: readonly Kind[];
  readonly documents: DocumentReader;
  readonly admission: readonly Admission[];
  readonly runs: Runs;
  readonly described: readonly Described[];
  readonly startable?: readonly Startable[];
  /** Present if agents run its runs. */
  readonly agents?: Agents;
  /** Loads and adds the dialect's controllers to a manager that has not started. */
  addControllers(manager: Manager, parts: ControllerParts): Promise<void>;
}
