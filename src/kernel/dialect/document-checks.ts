import type { JsonObject } from "#lib/base/index.ts";
import { type CompiledSchema, type FieldError, fieldsAt, type Schema } from "#lib/schema/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";
import { didYouMean } from "#lib/text/index.ts";
import { fieldTokens } from "./field-tokens.ts";
import type { Report } from "./problems.ts";

// Checks that all dialects share.

const codes: Partial<Record<FieldError["reason"], string>> = {
  FieldValueRequired: "required",
  FieldValueTypeInvalid: "wrong-type",
  FieldValueNotSupported: "unsupported-value",
};

export const codeOf = (error: FieldError): string => codes[error.reason] ?? "invalid-value";

/** YAML reads some words and numbers otherwise than meant. */
export function hintOf({ reason, message }: Pick<FieldError, "message"> & { readonly reason?: string }) {
  const found =
    reason === "FieldValueTypeInvalid" ? /must be of type string, not (\w+)$/.exec(message)?.[1] : undefined;
  if (found === "boolean")
    return "write it in quotes: YAML reads the plain words y, yes, on, true, n, no, off and false as booleans";
  return found === "integer" || found === "number" ? "write it in quotes: YAML reads it as a number" : undefined;
}

/** Reports schema problems at their places; false if there are any. The caller has filled in defaults. */
export function checkSchema(schema: CompiledSchema, document: JsonObject, report: Report): boolean {
  const errors = schema.validate(document);
  for (const error of errors) report(fieldTokens(document, error.field), codeOf(error), error.message, hintOf(error));
  return errors.length === 0;
}

/** The server would refuse the name without a position. */
export function checkName({ name, generateName }: JsonObject, report: Report): void {
  if (name === undefined && typeof generateName === "string" && generateName !== "") return;
  if (typeof name === "string" && subdomainRule(name) === undefined) return;
  const found = name === undefined ? "nothing" : JSON.stringify(name);
  report(
    ["metadata", "name"],
    "invalid-name",
    `expected at most 253 lower-case letters, digits, "-" and ".", found ${found}`,
  );
}

/** Other workflow languages' names of a field. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  dependencies: ["depends", "dependsOn", "depends_on", "needs", "runAfter"],
};

/** Reports unknown fields at their places; metadata is left to the server. */
export function checkUnknown(
  schema: Schema,
  compiled: CompiledSchema,
  { metadata: _servers, ...document }: JsonObject,
  report: Report,
): void {
  for (const field of compiled.prune(document).unknown) {
    const path = fieldTokens(document, field);
    const name = String(path.at(-1));
    const fields = fieldsAt(schema, path.slice(0, -1));
    const meant = fields.find((field) => otherWords[field]?.includes(name));
    const guess = meant === undefined ? didYouMean(name, fields) : `did you mean "${meant}"?`;
    const isOn = name === "true" && fields.includes("on");
    // In YAML 1.1, which Kubernetes uses, the key is a boolean.
    const hint = isOn ? 'write "on" in quotes: as a plain word it means true in YAML' : guess;
    report(path, "unknown-field", "is not a field of this kind", hint);
  }
}
