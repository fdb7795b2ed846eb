import type { FieldPath } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import { isDeclaredPath, parseRulePath } from "./rule-path.ts";
import type { Schema, ValidationRule } from "./schema.ts";

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const isBlank = (text: string | undefined): boolean => text !== undefined && text !== "" && text.trim() === "";
const hasLines = (text: string | undefined): boolean => /[\n\r]/.test(text?.trim() ?? "");

/** What can be told of the rules beside a node without compiling them. */
export const checkRuleTexts = (schema: Schema, path: FieldPath): readonly FieldError[] =>
  (schema["x-kubernetes-validations"] ?? []).flatMap((rule, index) => [
    ...textProblems(rule, schema, [...path, "x-kubernetes-validations", index]),
  ]);

/** Messages are one line: they become lines of terminals and logs. A rule of several lines is no message. */
function* textProblems(rule: ValidationRule, schema: Schema, at: FieldPath): Generator<FieldError> {
  const { message, messageExpression, reason, fieldPath } = rule;
  const invalid = (name: string, value: unknown, detail: string) => fieldError.invalid([...at, name], value, detail);
  if (rule.rule.trim() === "") yield fieldError.required([...at, "rule"], "rule is not specified");
  else if (isBlank(message)) yield invalid("message", message, "message must be non-empty if specified");
  else if (hasLines(message)) yield invalid("message", message, "message must not contain line breaks");
  else if (hasLines(rule.rule) && (message ?? "") === "")
    yield fieldError.required([...at, "message"], "message must be specified if rule contains line breaks");
  if (isBlank(messageExpression))
    yield fieldError.required([...at, "messageExpression"], "messageExpression must be non-empty if specified");
  if (reason !== undefined && !reasons.includes(reason))
    yield fieldError.notSupported([...at, "reason"], reason, reasons);
  if (fieldPath === undefined || fieldPath === "") return;
  const names = parseRulePath(fieldPath);
  if (names === undefined || !isDeclaredPath(names, schema))
    yield invalid("fieldPath", fieldPath, "fieldPath must be a valid path");
}

/** A rule and the path where it stands. */
export interface PlacedRule {
  readonly path: FieldPath;
  readonly rule: ValidationRule;
  readonly schema: Schema;
  /** The first list around the rule without keys: its items have no former values. Members always do. */
  readonly replacedWith: FieldPath | undefined;
}

/** All `x-kubernetes-validations` rules of a schema. */
export function rulesOf(schema: Schema, path: FieldPath, replacedWith?: FieldPath): readonly PlacedRule[] {
  const { properties = {}, additionalProperties: rest, items } = schema;
  const ofItems = replacedWith ?? (schema["x-kubernetes-list-type"] === "map" ? undefined : path);
  return [
    ...(schema["x-kubernetes-validations"] ?? []).map((rule, index) => ({
      path: [...path, "x-kubernetes-validations", index],
      rule,
      schema,
      replacedWith,
    })),
    ...Object.entries(properties).flatMap(([name, child]) =>
      rulesOf(child, [...path, "properties", name], replacedWith),
    ),
    ...(typeof rest === "object" ? rulesOf(rest, [...path, "additionalProperties"], replacedWith) : []),
    ...(items === undefined ? [] : rulesOf(items, [...path, "items"], ofItems)),
  ];
}
