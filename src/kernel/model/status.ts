// How an API says no. One vocabulary for the server that refuses, the wire, and whoever is refused, so that a controller cannot tell
// the embedded server from a cluster.

/**
 * Why the API said no, in Kubernetes' vocabulary. Programs decide by it; `code` is for HTTP and `message` for people. `Gone` is what
 * old servers say for `Expired`.
 */
export type StatusReason =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "AlreadyExists"
  | "Conflict"
  | "Expired"
  | "Gone"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "Invalid"
  | "TooManyRequests"
  | "InternalError"
  | "NotImplemented"
  | "ServiceUnavailable"
  | "Timeout"
  | "ServerTimeout";

/**
 * One cause of a refusal. `field` is a path in Kubernetes notation (`spec.steps[build].image`), `reason` one of `FieldValue…` or
 * another CamelCase word (`NamespaceTerminating`), `message` a text without the path.
 */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** What a refusal is about, for programs: never needed to understand the message. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource's plural, as Kubernetes does; the kind in `Invalid`. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  /** The same request may be sent again after this long; also the `Retry-After` header. */
  readonly retryAfterSeconds?: number;
}

/**
 * `meta/v1 Status`: the body of every refusal, of deletions that are done, and of the ERROR event of a watch. `metadata.continue` of an
 * `Expired` list goes on with the listing at another revision.
 */
export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: StatusReason;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** `ServerTimeout` is no 504: the server was asked for something it could not begin, and may be asked again. */
const codeByReason: Readonly<Record<StatusReason, number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  Gone: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  NotImplemented: 501,
  ServiceUnavailable: 503,
  Timeout: 504,
  ServerTimeout: 500,
};

/**
 * The API refused. Ask with `isNotFound(e)` and its siblings, not by numbers or texts. The one error that passes the border between
 * client and server in both directions: `toStatus` writes it, `fromStatus` reads it, and nothing is lost but `cause`.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: StatusDetails;
  /** A token that goes on with an expired listing, if the server gave one. */
  readonly continueToken: string | undefined;

  constructor(
    reason: StatusReason,
    message: string,
    options: {
      readonly details?: StatusDetails;
      /** Where HTTP has a number that the reason does not imply: 414, 421. */
      readonly code?: number;
      readonly continueToken?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.reason = reason;
    this.code = options.code ?? codeByReason[reason];
    this.details = options.details ?? {};
    this.continueToken = options.continueToken;
  }

  /** The body that carries this refusal. What caused it is not told: it may name files and other secrets of the server. */
  toStatus(): Status {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: "Failure",
      message: this.message,
      reason: this.reason,
      details: this.details,
      code: this.code,
    };
  }

  /** The refusal a Status body carries. Servers may leave out anything but the code; no reason counts as `InternalError`. */
  static fromStatus(status: Status): ApiError {
    return new ApiError(status.reason ?? "InternalError", status.message ?? `the server answered ${status.code}`, {
      code: status.code,
      ...(status.details === undefined ? {} : { details: status.details }),
      ...(status.metadata?.continue === undefined ? {} : { continueToken: status.metadata.continue }),
    });
  }
}

/** A question that is also a type guard, and false for whatever is no refusal. */
const hasReason =
  (...reasons: readonly StatusReason[]) =>
  (thrown: unknown): thrown is ApiError =>
    thrown instanceof ApiError && reasons.includes(thrown.reason);

/** The object, its namespace or its kind is not there. */
export const isNotFound = hasReason("NotFound");
/** A create met an object of that name. */
export const isAlreadyExists = hasReason("AlreadyExists");
/** The object is not the one, or not in the state, that the writer knew: read it again. */
export const isConflict = hasReason("Conflict");
/** The revision or page token is older than the history kept: list again. */
export const isGone = hasReason("Expired", "Gone");
/** The request is wrong as it stands; sending it again helps nothing. */
export const isInvalid = hasReason("Invalid", "BadRequest");
/** The caller may not, or the namespace is going away. */
export const isForbidden = hasReason("Forbidden");
/**
 * The same request may succeed later without anything being changed by the caller. Whether it may be sent again is another question:
 * after an `InternalError` a create may have been done.
 */
export const isTransient = hasReason(
  "TooManyRequests",
  "InternalError",
  "ServiceUnavailable",
  "Timeout",
  "ServerTimeout",
);
