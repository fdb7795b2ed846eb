import { isJsonObject } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { ApiError, type Status, type StatusReason } from "#kernel/model/index.ts";

/** For servers and proxies that say a number only. A bare 409 may mean either conflict; the one that is read again does no harm. */
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

/** Enough of a body that is no Status to see what answered. */
const shownBody = 200;

/**
 * The refusal an answer other than 2xx carries; proxies and load balancers answer with any text, of which the first 200 characters are
 * shown. `Retry-After` in seconds is taken over where the Status says nothing; the form with a date is passed over.
 */
export function refusalOf(code: number, body: string, retryAfter: string | undefined): ApiError {
  const parsed = parseJson(body);
  const seconds = retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  const status = parsed.ok && isStatus(parsed.value) ? parsed.value : statusFor(code, body);
  if (seconds === undefined || status.details?.retryAfterSeconds !== undefined) return fromStatus(status);
  return fromStatus({ ...status, details: { ...status.details, retryAfterSeconds: seconds } });
}

/** The refusal in an ERROR event of a watch, or undefined when it is no Status. */
export const refusalInEvent = (object: unknown): ApiError | undefined =>
  isStatus(object) ? fromStatus(object) : undefined;

/** Is this the body of a refusal, or of a deletion that is done? */
export const isStatus = (value: unknown): value is Status =>
  isJsonObject(value) && value["kind"] === "Status" && value["apiVersion"] === "v1";

/** Servers leave the reason out, or empty, when they know of none. */
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
