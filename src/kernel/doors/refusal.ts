import type { IncomingHttpHeaders } from "node:http";

const statuses = {
  unauthorized: 401,
  forbidden: 403,
  "too-large": 413,
  "range-not-satisfiable": 416,
  "misdirected-request": 421,
  "too-many-requests": 429,
  "incomplete-body": 400,
  "bad-upgrade": 400,
  "internal-error": 500,
  "service-unavailable": 503,
} as const;
export type RefusalKind = keyof typeof statuses;

/** Why a door, or a helper of an answer, refuses a request. Services give it the form of their protocol. */
export class DoorRefusal extends Error {
  override readonly name = "DoorRefusal";
  readonly kind: RefusalKind;
  readonly status: number;
  /** That the answer needs. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(kind: RefusalKind, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.kind = kind;
    this.status = statuses[kind];
    this.headers = options.headers ?? {};
  }
}

interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

export interface RefusedRequest {
  /** Without the query, which may hold a mistyped token. */
  readonly path: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

export interface RefusalForm {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How a service words the refusals of its door; the status stays. */
export type FormRefusal = (refusal: DoorRefusal, request: RefusedRequest) => RefusalForm;

export const plainRefusal: FormRefusal = ({ kind, message }) => ({
  headers: { "content-type": "application/json" },
  body: `${JSON.stringify({ reason: kind, message })}\n`,
});
