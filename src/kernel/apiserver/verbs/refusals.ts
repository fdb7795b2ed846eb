import {
  ApiError,
  qualifiedResource,
  type ResourceType,
  type StatusCause,
  type StatusDetails,
} from "#kernel/model/index.ts";

// The refusals of the API in Kubernetes' words. Details name the resource by its plural, as Kubernetes does.

type Named = Pick<ResourceType, "group" | "plural" | "kind">;

const subject = (type: Named, name: string): string => `${qualifiedResource(type)} "${name}"`;

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

/** For a path that names nothing this server serves. */
export const unknownResource = (): ApiError =>
  new ApiError("NotFound", "the server could not find the requested resource");

export const alreadyExists = (type: Named, name: string): ApiError =>
  new ApiError("AlreadyExists", `${subject(type, name)} already exists`, { details: detailsOf(type, name) });

export const badRequest = (message: string): ApiError => new ApiError("BadRequest", message);

export const forbidden = (type: Named, name: string, why: string, causes: readonly StatusCause[] = []): ApiError =>
  new ApiError("Forbidden", `${subject(type, name)} is forbidden: ${why}`, {
    details: detailsOf(type, name, causes.length === 0 ? {} : { causes }),
  });

const conflict = (type: Named, name: string, why: string): ApiError =>
  new ApiError("Conflict", `Operation cannot be fulfilled on ${subject(type, name)}: ${why}`, {
    details: detailsOf(type, name),
  });

/** The caller's resourceVersion is not the object's. */
export const staleRevision = (type: Named, name: string): ApiError =>
  conflict(type, name, "the object has been modified; please apply your changes to the latest version and try again");

export const uidMismatch = (type: Named, name: string, expected: string, found: string): ApiError =>
  conflict(type, name, `the precondition asks for uid ${expected}, the object has uid ${found}`);

/** All causes in one answer; `causes` must not be empty. */
export function invalid(type: Named, name: string, causes: readonly StatusCause[]): ApiError {
  const texts = causes.map((cause) => `${cause.field ?? ""}: ${cause.message ?? cause.reason ?? ""}`);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const kind = type.group === "" ? type.kind : `${type.kind}.${type.group}`;
  return new ApiError("Invalid", `${kind} "${name}" is invalid: ${list}`, {
    // Here Kubernetes names the kind, not the plural.
    details: { ...detailsOf(type, name, { causes }), kind: type.kind },
  });
}

/** A query parameter or option has a value outside its set. */
export function invalidOption(option: string, message: string): ApiError {
  return new ApiError("Invalid", `${option}: ${message}`, {
    details: { causes: [{ reason: "FieldValueInvalid", field: option, message }] },
  });
}

export const expired = (message: string, continueToken?: string): ApiError =>
  new ApiError("Expired", message, continueToken === undefined ? {} : { continueToken });

export const tooLarge = (message: string): ApiError => new ApiError("RequestEntityTooLarge", message);

export const tooManyRequests = (what: string): ApiError =>
  new ApiError("TooManyRequests", `too many ${what}, try again later`, { details: { retryAfterSeconds: 1 } });

export const unsupportedMediaType = (found: string, accepted: readonly string[]): ApiError =>
  new ApiError(
    "UnsupportedMediaType",
    `the body of the request was in an unknown format (${found}) - accepted media types include: ${accepted.join(", ")}`,
  );

// Causes.

export const required = (field: string, detail: string): StatusCause => ({
  reason: "FieldValueRequired",
  field,
  message: `Required value: ${detail}`,
});

export const invalidValue = (field: string, value: unknown, detail: string): StatusCause => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${shorten(value)}: ${detail}`,
});

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

export const wrongType = (field: string, value: unknown, expected: string): StatusCause => ({
  reason: "FieldValueTypeInvalid",
  field,
  message: `Invalid value: ${shorten(value)}: must be ${expected}`,
});

function shorten(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
