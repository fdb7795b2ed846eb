import type { DoorRefusal, FormRefusal, RefusalKind } from "#kernel/doors/index.ts";

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: (typeof kinds)[ProblemKind][0];
  readonly detail: string;
  readonly instance: string;
  readonly errors: readonly string[];
}

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

/** Thrown by handlers to refuse a request; other errors are internal. */
export class RestRefusal extends Error {
  override readonly name = "RestRefusal";
  readonly kind: ProblemKind;
  readonly errors: readonly string[];
  readonly parameter: string | undefined;

  constructor(kind: ProblemKind, detail: string, { errors = [], parameter, cause }: RefusalDetails = {}) {
    super(detail, cause === undefined ? {} : { cause });
    this.kind = kind;
    this.errors = errors;
    this.parameter = parameter;
  }
}

interface RefusalDetails {
  readonly errors?: readonly string[];
  readonly parameter?: string;
  readonly cause?: unknown;
}

export const refuse = (kind: ProblemKind, detail: string, details: RefusalDetails = {}): RestRefusal =>
  new RestRefusal(kind, detail, details);

const kindsOfDoors: Readonly<Record<RefusalKind, ProblemKind>> = {
  unauthorized: "unauthorized",
  forbidden: "forbidden",
  "too-large": "too-large",
  "range-not-satisfiable": "range-not-satisfiable",
  "misdirected-request": "misdirected-request",
  "too-many-requests": "too-many",
  "incomplete-body": "unexpected-body-read-error",
  "bad-upgrade": "invalid-param",
  "internal-error": "internal-server-error",
  "service-unavailable": "service-unavailable",
};

/** A refusal of the kernel's door in Wharf's words. */
export const refusalOfDoor = ({ kind, message, cause }: DoorRefusal): RestRefusal =>
  refuse(kindsOfDoors[kind], message, { cause });

export const doorProblem: FormRefusal = (refusal, { path, url, headers }) => ({
  headers: { "content-type": problemType },
  body: jsonText(problemOf(refusalOfDoor(refusal), path), wantsIndent(url, headers["user-agent"])),
});

export function problemOf({ kind, message, errors, parameter }: RestRefusal, path: string): Problem {
  const [status, title] = kinds[kind];
  const instance = parameter === undefined ? path : `${path}#${parameter}`;
  return { type: `/prob/api/${kind}`, title, status, detail: message, instance, errors };
}

export const problemType = "application/problem+json";

export const wantsIndent = (path: string, userAgent: string | undefined): boolean =>
  /[?&]pretty(?:&|=(?!false)|$)/.test(path) || /^curl\//i.test(userAgent ?? "");

export const jsonText = (value: unknown, isIndented: boolean): string =>
  isIndented ? `${JSON.stringify(value, undefined, 2)}\n` : JSON.stringify(value);
