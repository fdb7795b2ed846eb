// Refusals of the API. Server, client and wire share them, so a controller cannot tell the embedded server from a
// cluster.

/**
 * Kubernetes' reasons, by which programs decide; `code` is for HTTP and `message` for people. Old servers send `Gone`
 * instead of `Expired`.
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
 * One cause of a refusal. `field` is a path in Kubernetes' notation (`spec.steps[build].image`), `reason` a word such
 * as `FieldValueInvalid` or `NamespaceTerminating`, `message` a text without the path.
 */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** Details for programs. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource's plural; in `Invalid`, the kind. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  /** When to retry the same request; also the `Retry-After` header. */
  readonly retryAfterSeconds?: number;
}

/**
 * `meta/v1 Status`: the body of refusals, of completed deletions, and of a watch's ERROR event. `metadata.continue` of
 * an `Expired` list continues the listing at another revision.
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

/** `ServerTimeout` is not 504: the server could not begin, and the request may be retried. */
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
 * A refusal by the API. Test it with `isNotFound(e)` and its siblings. `toStatus` and `fromStatus` lose nothing but
 * `cause`.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly reason: StatusReason;
  readonly code: number;
  readonly details: StatusDetails;
  /** Continues an expired listing, if the server sent it. */
  readonly continueToken: string | undefined;

  constructor(
    reason: StatusReason,
    message: string,
    options: {
      readonly details?: StatusDetails;
      /** For codes that the reason does not imply: 414, 421. */
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

  /** The body of this refusal. `cause` is left out: it may name files and other secrets of the server. */
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

  /** The refusal in a Status body, in which servers may leave out anything but the code. */
  static fromStatus(status: Status): ApiError {
    return new ApiError(status.reason ?? "InternalError", status.message ?? `the server answered ${status.code}`, {
      code: status.code,
      ...(status.details === undefined ? {} : { details: status.details }),
      ...(status.metadata?.continue === undefined ? {} : { continueToken: status.metadata.continue }),
    });
  }
}

/** A type guard that is false for other errors. */
const hasReason =
  (...reasons: readonly StatusReason[]) =>
  (thrown: unknown): thrown is ApiError =>
    thrown instanceof ApiError && reasons.includes(thrown.reason);

export const isNotFound = hasReason("NotFound");
export const isAlreadyExists = hasReason("AlreadyExists");
/** The object changed meanwhile: read it again. */
export const isConflict = hasReason("Conflict");
/** The revision or page token is too old: list again. */
export const isGone = hasReason("Expired", "Gone");
export const isInvalid = hasReason("Invalid", "BadRequest");
/** The caller has no permission, or the namespace is being deleted. */
export const isForbidden = hasReason("Forbidden");
/**
 * The same request may succeed later. That does not make it safe to repeat: after an `InternalError`, a create may have
 * succeeded.
 */
export const isTransient = hasReason(
  "TooManyRequests",
  "InternalError",
  "ServiceUnavailable",
  "Timeout",
  "ServerTimeout",
);
