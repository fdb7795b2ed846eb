import { qualifiedResource, type ResourceType } from "./resource-type.ts";
import { ApiError, type StatusCause, type StatusDetails } from "./status.ts";

// The refusals of the API in Kubernetes' words, for everything that answers like one: the server, the in-memory client of tests and
// the chaos client. kubectl and operators match some of these texts. Details name the resource by its plural, as Kubernetes does.
//
//   NotFound   pods "a" not found
//   Conflict   Operation cannot be fulfilled on jobs.batch "a": the object has been modified; …
//   Invalid    Workflow.slipway.dev "a" is invalid: [spec.x: Required value: …, spec.y: Forbidden: …]

/** What a message says of a kind: `jobs.batch`, and `Job.batch` in `Invalid`. */
type Named = Pick<ResourceType, "group" | "plural" | "kind">;

const subject = (type: Named, name: string): string => `${qualifiedResource(type)} "${name}"`;

/** Empty members are left out: Go clients cannot tell them from absent ones, and bodies are compared. */
function detailsOf(type: Named, name: string, more: Partial<StatusDetails> = {}): StatusDetails {
  return {
    ...(name === "" ? {} : { name }),
    ...(type.group === "" ? {} : { group: type.group }),
    kind: type.plural,
    ...more,
  };
}

/** No object of that name, or none any more. */
export const notFound = (type: Named, name: string): ApiError =>
  new ApiError("NotFound", `${subject(type, name)} not found`, { details: detailsOf(type, name) });

/** For a path that names nothing this server serves. Without details: there is no kind to name. */
export const unknownResource = (): ApiError =>
  new ApiError("NotFound", "the server could not find the requested resource");

/** A create, or eight tries of a generated name, met an object of that name. */
export const alreadyExists = (type: Named, name: string): ApiError =>
  new ApiError("AlreadyExists", `${subject(type, name)} already exists`, { details: detailsOf(type, name) });

/** The request cannot be read: a body that is no JSON, a parameter that is no number. */
export const badRequest = (message: string): ApiError => new ApiError("BadRequest", message);

/** The caller may do this elsewhere, but not here; \`causes\` tell programs why, as \`NamespaceTerminating\` does. */
export const forbidden = (type: Named, name: string, why: string, causes: readonly StatusCause[] = []): ApiError =>
  new ApiError("Forbidden", `${subject(type, name)} is forbidden: ${why}`, {
    details: detailsOf(type, name, causes.length === 0 ? {} : { causes }),
  });

/** 409 for a write that expected another state; `why` says which precondition did not hold. */
export const conflict = (type: Named, name: string, why: string): ApiError =>
  new ApiError("Conflict", `Operation cannot be fulfilled on ${subject(type, name)}: ${why}`, {
    details: detailsOf(type, name),
  });

/** The caller's resourceVersion is not the object's. The end of the text is what kubectl and client-go print and match. */
export const staleRevision = (type: Named, name: string): ApiError =>
  conflict(type, name, "the object has been modified; please apply your changes to the latest version and try again");

/** The name is another object's by now. */
export const uidMismatch = (type: Named, name: string, expected: string, found: string): ApiError =>
  conflict(type, name, `the precondition asks for uid ${expected}, the object has uid ${found}`);

/** 422 with all causes in one answer; `causes` must not be empty. Several are put in brackets, one stands alone, as in Kubernetes. */
export function invalid(type: Named, name: string, causes: readonly StatusCause[]): ApiError {
  const texts = causes.map((cause) => `${cause.field ?? ""}: ${cause.message ?? cause.reason ?? ""}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const kind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  return new ApiError("Invalid", `${kind} "${name}" is invalid: ${list}`, {
    // Here Kubernetes names the kind, not the plural.
    details: { ...detailsOf(type, name, { causes }), kind: type.kind },
  });
}

/** A query parameter or option has a value outside its set: 422 like a field, though it is none (`dryRun=true`). */
export function invalidOption(option: string, message: string): ApiError {
  const [word = ""] = message.split(":", 1);
  const reason = reasonByWord.get(word) ?? "FieldValueInvalid";
  return new ApiError("Invalid", `${option}: ${message}`, {
    details: { causes: [{ reason, field: option, message }] },
  });
}

/** The class of an error, by the words that its message begins with. */
const reasonByWord: ReadonlyMap<string, string> = new Map([
  ["Unsupported value", "FieldValueNotSupported"],
  ["Forbidden", "FieldValueForbidden"],
  ["Too long", "FieldValueTooLong"],
]);

/**
 * 410: the history that the request needs is forgotten. `continueToken` goes on with a listing at the present revision, which shows
 * a mixture of two states; a client may take it or list again.
 */
export const expired = (message: string, continueToken?: string): ApiError =>
  new ApiError("Expired", message, continueToken === undefined ? {} : { continueToken });

/** 413: a body or object beyond its limit. */
export const tooLarge = (message: string): ApiError => new ApiError("RequestEntityTooLarge", message);

/** 429 with a second to wait, which well-behaved clients keep to. \`what\` is a plural: \`watches\`. */
export const tooManyRequests = (what: string): ApiError =>
  new ApiError("TooManyRequests", `too many ${what}, try again later`, { details: { retryAfterSeconds: 1 } });

/** 415 with what would be taken instead; \`accepted\` in the order of preference. */
export const unsupportedMediaType = (found: string, accepted: readonly string[]): ApiError =>
  new ApiError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format (${found}) - accepted media types include: ${accepted.join(", ")}`,
  );

// Causes of `Invalid`, one function for each of Kubernetes' kinds of field error. `field` is a path such as `spec.steps[build].image`,
// `detail` ends the message and needs no capital and no full stop.

/** Nothing where something must be. */
export const required = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueRequired",
  field,
  message: `Required value: ${detail}`,
});

/** A value that breaks a rule. It is repeated in the message, at most 200 characters of its JSON. */
export const invalidValue = (field: string, value: unknown, detail: string): StatusCause => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${shorten(value)}: ${detail}`,
});

/** A value where there must be none, or a change of what never changes. The value is not repeated: it is not what is wrong. */
export const forbiddenField = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueForbidden",
  field,
  message: `Forbidden: ${detail}`,
});

/** More than fits. The value is not repeated. */
export const tooLongField = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueTooLong",
  field,
  message: `Too long: ${detail}`,
});

/** A text where a number belongs, and the like; \`expected\` with its article: \`a string\`. */
export const wrongType = (field: string, value: unknown, expected: string): StatusCause => ({
  reason: "FieldValueTypeInvalid",
  field,
  message: `Invalid value: ${shorten(value)}: must be ${expected}`,
});

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
