import { qualifiedResource, type ResourceType } from "./resource-type.ts";
import { ApiError, type StatusCause, type StatusDetails } from "./status.ts";

// The API's refusals in Kubernetes' words, some of which kubectl and operators match. Details name the resource by its
// plural.
//
//     NotFound   pods "a" not found
//     Conflict   Operation cannot be fulfilled on jobs.batch "a": the object has been modified; …
//     Invalid    Workflow.slipway.dev "a" is invalid: [spec.x: Required value: …, spec.y: Forbidden: …]

type Named = Pick<ResourceType, "group" | "plural" | "kind">;

const subject = (type: Named, name: string): string => `${qualifiedResource(type)} "${name}"`;

/** Without empty members: Go clients treat them as absent, and bodies are compared. */
function detailsOf(type: Named, name: string, more: Partial<StatusDetails> = {}): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(type.group === "" ? {} : { group: type.group }),
    kind: type.plural,
    ...more,
  };
}

export const notFound = (type: Named, name: string): ApiError =>
  new ApiError("NotFound", `${subject(type, name)} not found`, { details: detailsOf(type, name) });

/** For a path that this server does not serve; without details, because no kind is known. */
export const unknownResource = (): ApiError =>
  new ApiError("NotFound", "the server could not find the requested resource");

export const alreadyExists = (type: Named, name: string): ApiError =>
  new ApiError("AlreadyExists", `${subject(type, name)} already exists`, { details: detailsOf(type, name) });

/** The request cannot be parsed. */
export const badRequest = (message: string): ApiError => new ApiError("BadRequest", message);

/** The caller may not do this here; `causes` say why, such as `NamespaceTerminating`. */
export const forbidden = (type: Named, name: string, why: string, causes: readonly StatusCause[] = []): ApiError =>
  new ApiError("Forbidden", `${subject(type, name)} is forbidden: ${why}`, {
    details: detailsOf(type, name, causes.length === 0 ? {} : { causes }),
  });

/** A write expected another state; `why` names the failed precondition. */
export const conflict = (type: Named, name: string, why: string): ApiError =>
  new ApiError("Conflict", `Operation cannot be fulfilled on ${subject(type, name)}: ${why}`, {
    details: detailsOf(type, name),
  });

/** kubectl and client-go match the end of this text. */
export const staleRevision = (type: Named, name: string): ApiError =>
  conflict(type, name, "the object has been modified; please apply your changes to the latest version and try again");

export const uidMismatch = (type: Named, name: string, expected: string, found: string): ApiError =>
  conflict(type, name, `the precondition asks for uid ${expected}, the object has uid ${found}`);

/** All causes in one answer; `causes` must not be empty. Several are put in brackets, as in Kubernetes. */
export function invalid(type: Named, name: string, causes: readonly StatusCause[]): ApiError {
  const texts = causes.map((cause) => `${cause.field ?? ""}: ${cause.message ?? cause.reason ?? ""}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const kind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  return new ApiError("Invalid", `${kind} "${name}" is invalid: ${list}`, {
    // Here Kubernetes names the kind, not the plural.
    details: { ...detailsOf(type, name, { causes }), kind: type.kind },
  });
}

/** A query parameter or option has an invalid value (`dryRun=true`). */
export function invalidOption(option: string, message: string): ApiError {
  const [word = ""] = message.split(":", 1);
  const reason = reasonByWord.get(word) ?? "FieldValueInvalid";
  return new ApiError("Invalid", `${option}: ${message}`, {
    details: { causes: [{ reason, field: option, message }] },
  });
}

/** Reason by the first words of the message. */
const reasonByWord: ReadonlyMap<string, string> = new Map([
  ["Unsupported value", "FieldValueNotSupported"],
  ["Forbidden", "FieldValueForbidden"],
  ["Too long", "FieldValueTooLong"],
]);

/**
 * The requested history is gone. `continueToken` continues a listing at the current revision, which may mix two states.
 */
export const expired = (message: string, continueToken?: string): ApiError =>
  new ApiError("Expired", message, continueToken === undefined ? {} : { continueToken });

export const tooLarge = (message: string): ApiError => new ApiError("RequestEntityTooLarge", message);

/** `what` is a plural: `watches`. */
export const tooManyRequests = (what: string): ApiError =>
  new ApiError("TooManyRequests", `too many ${what}, try again later`, { details: { retryAfterSeconds: 1 } });

/** `accepted` in order of preference. */
export const unsupportedMediaType = (found: string, accepted: readonly string[]): ApiError =>
  new ApiError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format (${found}) - accepted media types include: ${accepted.join(", ")}`,
  );

// Causes of `Invalid`, one function for each of Kubernetes' kinds of field error. `detail` ends the message, without
// capital and full stop.

export const required = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueRequired",
  field,
  message: `Required value: ${detail}`,
});

/** The message repeats at most 200 characters of the value's JSON. */
export const invalidValue = (field: string, value: unknown, detail: string): StatusCause => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${shorten(value)}: ${detail}`,
});

/** A forbidden value or change. */
export const forbiddenField = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueForbidden",
  field,
  message: `Forbidden: ${detail}`,
});

export const tooLongField = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueTooLong",
  field,
  message: `Too long: ${detail}`,
});

/** `expected` with its article: `a string`. */
export const wrongType = (field: string, value: unknown, expected: string): StatusCause => ({
  reason: "FieldValueTypeInvalid",
  field,
  message: `Invalid value: ${shorten(value)}: must be ${expected}`,
});

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
