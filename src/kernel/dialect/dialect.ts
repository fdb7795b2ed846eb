import type { Clock, FieldPath, Instant, JsonObject, JsonValue, Position, Problem, Result } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import type { ActionName, Dialect as DialectName, GroupKind, ObjectRef, RunDialect } from "#engine/index.ts";
import type { KubeObject, StatusCause, Writer } from "#kernel/model/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import type { Agents } from "./agents.ts";
import type { CacheExplanation, CacheQuestion } from "./cached-result.ts";
import type { ControllerParts, LogOpener } from "./controller-parts.ts";
import type { RunGraph } from "./graph.ts";
import type { Report } from "./problems.ts";
import type { RunAction } from "./run-action.ts";
import type { Simulation } from "./simulation.ts";

/** One document of a file a user gave. `YamlDocument` of `lib/yaml` is one. */
export interface SourceDocument {
  readonly value: JsonValue;
  /** Where the value at a path is, or its nearest existing parent. */
  readonly positionOf: (path: FieldPath) => Position;
}

export interface ReadOptions {
  /** Arguments of the run as texts, as `--param name=text` gives them; each is read by the type of its parameter. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Objects that it may refer to: checked ones, of the same files or from a server. */
  readonly beside?: readonly KubeObject[];
}

/** Objects that decide how a document is read, and where it names them. */
export type References = readonly { readonly ref: ObjectRef; readonly path: FieldPath }[];

/** A document read. With errors among the problems `object` is undefined. */
export interface DocumentReading {
  /** The resource to apply, complete and lossless. */
  readonly object: KubeObject | undefined;
  readonly problems: readonly Problem[];
}

/** A document that was read without an error. */
export interface CheckedDocument {
  readonly source: SourceDocument;
  readonly object: KubeObject;
}

/** A dialect's own documents. */
export interface DocumentReader {
  /** True when the document speaks this language, right or wrong. */
  detect(document: SourceDocument): boolean;
  /** The document that a whole file is, where this language has files that are no YAML documents; asked before any other reading. */
  fromText?(text: string, file: string): SourceDocument | undefined;
  /** Reads and checks; every problem at once. */
  read(document: SourceDocument, options?: ReadOptions): DocumentReading;
  /** What it refers to and should be given `beside`: without them less is said of it, and texts stay texts. */
  references(document: SourceDocument): References;
  /** What `read` finds, and what is allowed but unwise. */
  lint(document: SourceDocument, options?: Pick<ReadOptions, "beside">): readonly Problem[];
  /**
   * Runs that nobody has written: of templates that can be run as they are, for documents of this language without a run among them. To be
   * read as any other document. `hardware` is the machine that was named for them.
   */
  impliedRuns?(
    documents: readonly CheckedDocument[],
    named: { readonly hardware?: string },
  ): Result<readonly SourceDocument[], readonly Problem[]>;
  /** What only several documents together show against carrying them out: problems by document, in their order. */
  readTogether(documents: readonly CheckedDocument[]): readonly (readonly Problem[])[];
  /** What `readTogether` finds, and what is allowed but unwise. */
  lintTogether(documents: readonly CheckedDocument[]): readonly (readonly Problem[])[];
}

/** What a server asks a dialect before it stores an object of one of its kinds. Everything is pure. */
export interface Admission extends GroupKind {
  /** `validate` covers the schema in the dialect's own words, and is asked about objects that the schema refuses too. */
  readonly coversSchema: boolean;
  /** What the server adds to a new object or takes from it. `writer` is who creates it, where somebody has asked by name. */
  prepareForCreate(object: JsonObject, writer?: Writer): JsonObject;
  /**
   * Present when what the controller does for an object has to be what its writers may do (`Manager.clientFor`): the part that says
   * what is done. Whoever changes it becomes one of them.
   */
  actsOn?(object: JsonObject): JsonValue | undefined;
  /** Present where the controllers of the server go by a status: the part of it that only they and administrators may write. */
  ownStatus?(status: JsonObject): JsonValue | undefined;
  /** Everything against the object; with `old`, everything against this change of it. `server`: what may be asked of who stores it. */
  validate(object: JsonObject, old?: JsonObject, server?: AdmissionServer): Admitted;
}

/** What an admission may know of the server it works for. Absent in tools that only check documents. */
export interface AdmissionServer {
  /** Whether objects of this kind can be created now; definitions that are stored later change the answer. */
  readonly serves: (apiVersion: string, kind: string) => boolean;
}

/** No causes: admitted. */
export interface Admitted {
  readonly causes: readonly StatusCause[];
  readonly warnings: readonly string[];
}

export interface DescribeOptions {
  readonly now: Instant;
  /** Objects the run has created and its neighbours, as far as the caller has them. */
  readonly children?: readonly KubeObject[];
  /** Kinds of neighbours that the caller may not see: that none are given says nothing of them. */
  readonly hidden?: readonly string[];
}

/** Objects of a kind that belong to the picture of a run and are not its own: those of these names, or else all in every namespace. */
export interface Neighbours {
  readonly apiVersion: string;
  readonly kind: string;
  readonly names?: readonly string[];
}

/** Which part of a run an object carries out. */
export interface Place {
  readonly step: string;
  /** Of an item, the item's own. */
  readonly attempt: number;
  /** Index of the item, where the step fans out. */
  readonly item?: number;
}

/** What people can ask of the runs of a language by a RunAction. */
export interface RunCommands {
  /** Those it has a word for; all others are refused by name before they are stored. */
  readonly actions: readonly ActionName[];
  /** What else is against such a command, which its schema has passed. Whether it can be carried out now is judged by the controller. */
  check(command: RunAction["spec"], report: Report): void;
}

/** How the Pods of a run are found, in its namespace. */
export interface RunPods {
  /** Label selector; it finds the runs that steps have created, too. */
  selector(run: KubeObject): string;
  /** What such a Pod or run is for; undefined for one that does not say. */
  placeOf(object: KubeObject): Place | undefined;
}

/** What it takes to tell beforehand what a run carries out. */
export interface PreviewParts {
  readonly templates: ControllerParts["templates"];
  readonly signal: AbortSignal;
}

/** Every plan that could be made, in the order of the documents, and everything that is wrong, each with its place. */
export interface RunPreviews {
  /** For people, ending with a line end, and as data. */
  readonly plans: readonly { readonly text: string; readonly data: JsonValue }[];
  readonly problems: readonly Problem[];
}

/** Logs that a language keeps of its runs, where no Pod prints them: served as the subresource `log` of its kinds of runs. */
export interface RunLogs {
  /** What a query calls the part of a run whose log is meant. */
  readonly parameter: string;
  /** Reads one of what is in files that nobody has to have open, see `LogOpener`; absent where the dialect's controllers tell how. */
  open?(place: LogPlace, ...what: Parameters<LogOpener>): ReturnType<LogOpener>;
}

/** Where the controllers of a language keep logs. */
export interface LogPlace extends Pick<ControllerParts, "directory"> {
  readonly clock: Clock;
}

/**
 * The kinds of a dialect whose objects are runs, and how to look at them. Objects of other kinds must not be given. What is optional a
 * language may have no word for: faces then say that its runs cannot be asked for it.
 */
export interface Runs extends RunDialect<KubeObject> {
  /** What users of the language call its runs besides the names of the kind, which are unique on a server: short names of the original. */
  readonly aliases?: readonly string[];
  /** Text for people: several lines, no colours. */
  describe(object: KubeObject, options: DescribeOptions): string;
  readonly accepts: RunCommands;
  /** What else decides how a run goes on, to be given to `describe` beside its children. */
  readonly neighbours?: (object: KubeObject) => readonly Neighbours[];
  /** The Pods that carry out the steps of runs; absent where something else does. */
  readonly pods?: RunPods;
  /** What else keeps their logs; absent where Pods have them all. */
  readonly logs?: RunLogs;
  /** Why a stored run does not begin before somebody changes what it is made of; undefined while nothing is wrong with it. */
  refusal?(run: KubeObject): string | undefined;
  /** A new run of the same specification; with `reuse`, one that takes results of this one for steps that are as they were. */
  readonly resubmission?: (object: KubeObject, options: { readonly reuse: boolean }) => KubeObject;
  /** The same run with this main step and what it depends on, and nothing else. The step is one of `graph`. */
  readonly upTo?: (object: KubeObject, step: string) => KubeObject;
  /**
   * What the runs among documents would carry out, where something beyond this program does and the engine cannot try them: absent where
   * `simulation` tells it. A promise because what this takes is loaded first.
   */
  readonly preview?: (documents: readonly CheckedDocument[], parts: PreviewParts) => Promise<RunPreviews>;
  /** Also of an object that was never stored. */
  graph(object: KubeObject): RunGraph;
  /**
   * Values for an approval of a step, given as texts and read by the types the step declares; the error is for people. A promise
   * because what this takes is loaded first, as for `simulation`.
   */
  readonly approvalValues?: (
    object: KubeObject,
    step: string,
    texts: Readonly<Record<string, string>>,
  ) => Promise<Result<JsonObject, string>>;
  /** What is known of an earlier result for a step of a stored run; the error is for people. A promise as for `simulation`. */
  readonly explainCache?: (object: KubeObject, question: CacheQuestion) => Promise<Result<CacheExplanation, string>>;
  /**
   * `beside` are the objects it was written with, which it may refer to. Problems are those that only show when it is to be run. A
   * promise because what this takes is loaded first.
   */
  readonly simulation?: (
    object: KubeObject,
    beside: readonly KubeObject[],
  ) => Promise<Result<Simulation, readonly Problem[]>>;
}

/** A kind whose objects are no runs, but of which there is more to tell than their fields. */
export interface Described extends GroupKind {
  /** Kinds of the objects it controls that belong to the picture; to be given as `children`. */
  readonly controls: readonly { readonly apiVersion: string; readonly kind: string }[];
  /** Text for people, as for runs. A promise because what this takes is loaded first. */
  describe(object: KubeObject, options: DescribeOptions): Promise<string>;
}

/** A kind whose stored objects are no runs, and can be run: `slipway run wft/NAME`. */
export interface Startable extends GroupKind {
  /** What a command line calls it besides the names of the kind. */
  readonly aliases?: readonly string[];
  /** The document of a new run of a stored object, to be read as any other; the server completes its name. */
  run(object: KubeObject, now: Instant): JsonObject;
}

/** One language Slipway speaks. Command line, server and web interface know dialects by this interface only. */
export interface Dialect {
  readonly name: DialectName;
  /** Kinds whose objects the server must store, the runs among them. */
  readonly kinds: readonly Kind[];
  readonly documents: DocumentReader;
  readonly admission: readonly Admission[];
  readonly runs: Runs;
  readonly described: readonly Described[];
  readonly startable?: readonly Startable[];
  /** Who carries out its runs, where it is not the server. */
  readonly agents?: Agents;
  /** Adds the dialect's controllers to a manager that has not started. Loads them, which is why it takes a moment. */
  addControllers(manager: Manager, parts: ControllerParts): Promise<void>;
}
