/** A refusal as RFC 7807 and Wharf's clients have it. */
export interface Problem {
  /** `/prob/api/…`; programs decide by it. */
  readonly type: string;
  readonly title: string;
  readonly status: (typeof kinds)[ProblemKind][0];
  readonly detail: string;
  /** The path that was asked, with its query where nothing secret can stand there; behind `#` the parameter that is wrong, where it is one. */
  readonly instance: string;
  readonly errors: readonly string[];
}

/** The last part of the type, and the status that belongs to it. */
const kinds = {
  "record-not-found": [404, "Record not found."],
  "invalid-param": [400, "Invalid parameter."],
  "invalid-param-uint": [400, "Invalid parameter: expected a number from 0."],
  "missing-param-string": [400, "Missing parameter."],
  "unexpected-body-read-error": [400, "The body of the request cannot be read."],
  "unexpected-multipart-read-error": [400, "The parts of the request cannot be read."],
  "test-results-parse": [400, "The test results cannot be read."],
  "unexpected-db-read-error": [502, "Stored data cannot be read."],
  unauthorized: [401, "Unauthorized."],
  forbidden: [403, "Forbidden."],
  "misdirected-request": [421, "Misdirected request."],
  conflict: [409, "Conflict."],
  "too-many": [429, "Too many records."],
  "too-large": [413, "The request is too large."],
  "range-not-satisfiable": [416, "Range not satisfiable."],
  "internal-server-error": [500, "Internal server error."],
  "service-unavailable": [503, "Service unavailable."],
  "project/run/params-deserialize": [400, "The inputs of the build cannot be read."],
  "project/run/params-serialize": [400, "The inputs of the build cannot be passed on."],
  "project/run/trigger": [502, "The build cannot be started."],
  "engine/no-default": [500, "There is no default engine."],
  "provider/invalid-name": [400, "The provider has no known name."],
} as const;
export type ProblemKind = keyof typeof kinds;

/** A request that is refused: what a handler throws for the caller to read. Anything else it throws is a bug. */
export class RestRefusal extends Error {
  override readonly name = "RestRefusal";
  readonly kind: ProblemKind;
  readonly errors: readonly string[];
  /** The one that is wrong. */
  readonly parameter: string | undefined;

  constructor(kind: ProblemKind, detail: string, { errors = [], parameter, cause }: RefusalDetails = {}) {
    super(detail, cause === undefined ? {} : { cause });
    this.kind = kind;
    this.errors = errors;
    this.parameter = parameter;
  }
}

/** What a refusal says besides. */
interface RefusalDetails {
  readonly errors?: readonly string[];
  readonly parameter?: string;
  readonly cause?: unknown;
}

/** Refuses: `throw refuse("record-not-found", "build 7 does not exist")`. */
export const refuse = (kind: ProblemKind, detail: string, details: RefusalDetails = {}): RestRefusal =>
  new RestRefusal(kind, detail, details);

/** What the caller reads who has asked for a path. */
export function problemOf({ kind, message, errors, parameter }: RestRefusal, path: string): Problem {
  const [status, title] = kinds[kind];
  const instance = parameter === undefined ? path : `${path}#${parameter}`;
  return { type: `/prob/api/${kind}`, title, status, detail: message, instance, errors };
}

/** RFC 7807 has a media type of its own. */
export const problemType = "application/problem+json";

/** What is read by people in a terminal is indented; everything else is one line. */
export const wantsIndent = (path: string, userAgent: string | undefined): boolean =>
  /[?&]pretty(?:&|=(?!false)|$)/.test(path) || /^curl\//i.test(userAgent ?? "");

/** JSON as it is sent. */
export const jsonText = (value: unknown, isIndented: boolean): string =>
  isIndented ? `${JSON.stringify(value, undefined, 2)}\n` : JSON.stringify(value);
