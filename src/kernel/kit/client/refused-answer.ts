import { isJsonObject } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { ApiError, type Status, type StatusReason } from "#kernel/model/index.ts";

/** For answers without a Status. A bare 409 may be either conflict. */
const reasonByCode: Readonly<Record<number, StatusReason>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  406: "NotAcceptable",
  409: "Conflict",
  410: "Gone",
  413: "RequestEntityTooLarge",
  415: "UnsupportedMediaType",
  422: "Invalid",
  429: "TooManyRequests",
  501: "NotImplemented",
  503: "ServiceUnavailable",
  504: "Timeout",
};

const shownBody = 200;

/** The refusal in an answer other than 2xx: a Status, or 200 characters of the body with `Retry-After` in seconds. */
export function refusalOf(code: number, body: string, retryAfter: string | undefined): ApiError {
  const parsed = parseJson(body);
  const seconds = retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const status = parsed.ok && isStatus(parsed.value) ? parsed.value : statusFor(code, body);
  if (seconds === undefined || status.details?.retryAfterSeconds !== undefined) return fromStatus(status);
  return fromStatus({ ...status, details: { ...status.details, retryAfterSeconds: seconds } });
}

/** The refusal in an ERROR event; undefined if it is no Status. */
export const refusalInEvent = (object: unknown): ApiError | undefined =>
  isStatus(object) ? fromStatus(object) : undefined;

/** The body of a refusal, or of a completed deletion. */
export const isStatus = (value: unknown): value is Status =>
  isJsonObject(value) && value["kind"] === "Status" && value["apiVersion"] === "v1";

/** Servers may omit the reason. */
function fromStatus(status: Status): ApiError {
  const { reason, code } = status;
  return ApiError.fromStatus(reason === undefined || !reason ? { ...status, reason: reasonFor(code) } : status);
}

const reasonFor = (code: number): StatusReason => reasonByCode[code] ?? (code >= 500 ? "InternalError" : "BadRequest");

function statusFor(code: number, body: string): Status {
  const text = body.trim().slice(0, shownBody);
  const message = `the server answered ${code}${text === "" ? "" : `: ${text}`}`;
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason: reasonFor(code), message };
}
