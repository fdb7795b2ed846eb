/** Why the API said no, in Kubernetes' vocabulary. */
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

/** One cause of a refusal; `field` is a path in Kubernetes notation. */
export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The resource's plural, as Kubernetes does. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** `meta/v1 Status`: the body of every refusal and of some deletions. */
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

/** The API refused. Ask with `isNotFound(e)` and its siblings, not by numbers or texts. */
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

  /** The body that carries this refusal. */
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

  /** The refusal a Status body carries. */
  static fromStatus(status: Status): ApiError {
    return new ApiError(status.reason ?? "InternalError", status.message ?? `the server answered ${status.code}`, {
      code: status.code,
      ...(status.details === undefined ? {} : { details: status.details }),
      ...(status.metadata?.continue === undefined ? {} : { continueToken: status.metadata.continue }),
    });
  }
}

const hasReason =
  (...reasons: readonly StatusReason[]) =>
  (thrown: unknown): thrown is ApiError =>
    thrown instanceof ApiError && reasons.includes(thrown.reason);

export const isNotFound = hasReason("NotFound");
export const isAlreadyExists = hasReason("AlreadyExists");
export const isConflict = hasReason("Conflict");
export const isGone = hasReason("Expired", "Gone");
export const isInvalid = hasReason("Invalid", "BadRequest");
export const isForbidden = hasReason("Forbidden");
/** The same request may succeed later without anything being changed by the caller. */
export const isTransient = hasReason(
  "TooManyRequests",
  "InternalError",
  "ServiceUnavailable",
  "Timeout",
  "ServerTimeout",
);
