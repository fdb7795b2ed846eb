import { type FieldPath, formatFieldPath } from "#lib/base/index.ts";

/** Kubernetes' classes of validation errors, as they stand in `details.causes[].reason`. */
export type FieldErrorReason =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldValueNotFound"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid";

/** One thing wrong with an object: a cause of a 422 answer. `message` begins with Kubernetes' word for the class. */
export interface FieldError {
  readonly reason: FieldErrorReason;
  /** A path as Kubernetes writes it: `spec.steps[0].name`, `metadata.labels[a.b/c]`; empty for the whole object. */
  readonly field: string;
  readonly message: string;
}

/** Of JSON text. Values may be megabytes, and messages go to terminals and logs. */
const longestValue = 256;

/** A value as messages show it: JSON, cut after 256 characters. */
export function showValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length <= longestValue ? text : `${text.slice(0, longestValue)}…`;
}

type At = FieldPath | string;
/** A path in parts is formatted here, once per error, so that valid objects never pay for text. */
const error = (reason: FieldErrorReason, at: At, message: string): FieldError => ({
  reason,
  field: typeof at === "string" ? at : formatFieldPath(at),
  message,
});
/** `Required value` or `Required value: must not be empty`. */
const withDetail = (text: string, detail: string | undefined): string =>
  detail === undefined || detail === "" ? text : `${text}: ${detail}`;

/** The end of an invalid value's message, without the value, which may be a secret. It has no colon in it. */
export const detailOf = ({ message }: FieldError): string => message.slice(message.lastIndexOf(": ") + 2);

/** Builders of field errors. `at` is a field path, as parts or already as text; `detail` completes the sentence. */
export const fieldError = {
  required: (at: At, detail?: string) => error("FieldValueRequired", at, withDetail("Required value", detail)),
  invalid: (at: At, value: unknown, detail: string) =>
    error("FieldValueInvalid", at, `Invalid value: ${showValue(value)}: ${detail}`),
  wrongType: (at: At, value: unknown, detail: string) =>
    error("FieldValueTypeInvalid", at, `Invalid value: ${showValue(value)}: ${detail}`),
  notSupported: (at: At, value: unknown, supported: readonly unknown[]) =>
    error(
      "FieldValueNotSupported",
      at,
      withDetail(`Unsupported value: ${showValue(value)}`, `supported values: ${supported.map(showValue).join(", ")}`),
    ),
  duplicate: (at: At, value: unknown) => error("FieldValueDuplicate", at, `Duplicate value: ${showValue(value)}`),
  notFound: (at: At, value: unknown) => error("FieldValueNotFound", at, `Not found: ${showValue(value)}`),
  forbidden: (at: At, detail: string) => error("FieldValueForbidden", at, `Forbidden: ${detail}`),
  tooLong: (at: At, limit: number, unit = "characters") =>
    error("FieldValueTooLong", at, `Too long: may not be more than ${limit} ${unit}`),
  tooMany: (at: At, count: number, limit: number) =>
    error("FieldValueTooMany", at, `Too many: ${count}: must have at most ${limit} items`),
} as const;
