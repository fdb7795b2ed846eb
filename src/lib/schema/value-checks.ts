import { isJsonObject, type JsonValue, type Result } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { compileRe2, type Re2 } from "#lib/text/index.ts";
import { fieldError } from "./field-error.ts";
import { formatChecks } from "./formats.ts";
import type { Schema, SchemaType } from "./schema.ts";
import type { Check, ValidationRun } from "./validation-run.ts";
import { report } from "./validation-run.ts";

/** What is wrong with a value, as the end of `Invalid value: 3: …`. */
type Invalid = (value: JsonValue) => string | undefined;

/** The word for a value's type in messages. */
const typeOf = (value: JsonValue): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : typeof value === "number" && Number.isInteger(value)
        ? "integer"
        : typeof value;

/** JSON knows one kind of number: 1.0 is an integer here, as it is when read back. */
const isOfType: Readonly<Record<SchemaType, (value: JsonValue) => boolean>> = {
  object: isJsonObject,
  array: (value) => Array.isArray(value),
  string: (value) => typeof value === "string",
  integer: (value) => typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= 2 ** 63,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
};

/** What is wrong with the type of a value, or undefined. A value of the wrong type is not looked at any further. */
export function typeCheck(schema: Schema): Invalid | undefined {
  if (schema["x-kubernetes-int-or-string"] === true) {
    return (value) =>
      isOfType.string(value) || isOfType.integer(value)
        ? undefined
        : `must be of type integer or string, not ${typeOf(value)}`;
  }
  const { type } = schema;
  if (type === undefined) return undefined;
  const fits = isOfType[type];
  return (value) => (fits(value) ? undefined : `must be of type ${type}, not ${typeOf(value)}`);
}

/** The checks of a value by itself: everything but its members and items. */
export const valueChecks = (schema: Schema): readonly Check[] =>
  [numberCheck(schema), stringCheck(schema), sizeCheck(schema), enumCheck(schema)].filter(
    (check) => check !== undefined,
  );

/** Compared by content: an enum may hold objects. */
export function enumCheck({ enum: allowed }: Schema): Check | undefined {
  if (allowed === undefined) return undefined;
  const texts = new Set(allowed.map(canonicalJson));
  const words = new Set<JsonValue>(allowed.filter((value) => typeof value === "string"));
  return (value, run) => {
    if (!words.has(value) && !texts.has(canonicalJson(value)))
      report(run, fieldError.notSupported(run.path, value, allowed));
  };
}

/** Every rule that is broken is told, not only the first. */
const invalidWhen =
  (rules: readonly Invalid[]): Check =>
  (value, run) => {
    for (const rule of rules) {
      const detail = rule(value);
      if (detail !== undefined) report(run, fieldError.invalid(run.path, value, detail));
    }
  };

/** A rule for numbers says nothing of other values; their type has been judged before. */
const onNumber =
  (isValid: (value: number) => boolean, detail: string): Invalid =>
  (value) =>
    typeof value !== "number" || isValid(value) ? undefined : detail;

/** Bounds, multiples and the formats that are bounds; undefined when the schema has none of them. */
function numberCheck(schema: Schema): Check | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema;
  const rules: Invalid[] = [];
  if (minimum !== undefined) {
    rules.push(
      exclusiveMinimum === true
        ? onNumber((value) => value > minimum, `must be greater than ${minimum}`)
        : onNumber((value) => value >= minimum, `must be greater than or equal to ${minimum}`),
    );
  }
  if (maximum !== undefined) {
    rules.push(
      exclusiveMaximum === true
        ? onNumber((value) => value < maximum, `must be less than ${maximum}`)
        : onNumber((value) => value <= maximum, `must be less than or equal to ${maximum}`),
    );
  }
  if (multipleOf !== undefined)
    rules.push(onNumber((value) => isMultiple(value, multipleOf), `must be a multiple of ${multipleOf}`));
  if (format === "int32") rules.push(onNumber((value) => (value | 0) === value, "must fit into 32 bits"));
  // Larger integers are refused where JSON is read: a double cannot hold them.
  if (format === "int64") rules.push(onNumber((value) => Number.isSafeInteger(value), "must be an integer below 2^53"));
  if (format === "float") rules.push(onNumber((value) => Number.isFinite(Math.fround(value)), "must fit into 32 bits"));
  return rules.length === 0 ? undefined : invalidWhen(rules);
}

/** Each double has a relative error of 1e-16; 1e-12 leaves room for the division and none for real mistakes. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  // 0.3 / 0.1 is 2.9999999999999996: what is meant is decimal.
  return Math.abs(quotient - Math.round(quotient)) <= Math.abs(quotient) * 1e-12;
}

/** Length in code points, counted only when the cheap bound does not decide. */
const isLongerThan = (text: string, limit: number): boolean => text.length > limit && codePoints(text) > limit;
const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Lengths are code points, as JSON Schema counts them, so that a letter outside the BMP counts once. */
function stringCheck(schema: Schema): Check | undefined {
  const { minLength, maxLength, pattern, format } = schema;
  const checks: ((text: string, run: ValidationRun) => void)[] = [];
  const invalid = (isValid: (text: string) => boolean, detail: string) =>
    checks.push((text, run) => {
      if (!isValid(text)) report(run, fieldError.invalid(run.path, text, detail));
    });
  if (minLength !== undefined) {
    invalid(
      (text) => text.length >= minLength * 2 || codePoints(text) >= minLength,
      `must be at least ${minLength} characters long`,
    );
  }
  if (maxLength !== undefined) {
    checks.push((text, run) => {
      if (isLongerThan(text, maxLength)) report(run, fieldError.tooLong(run.path, maxLength));
    });
  }
  if (pattern !== undefined) checks.push(patternCheck(pattern));
  const check = format === undefined ? undefined : formatChecks.get(format);
  if (check !== undefined) {
    checks.push((text, run) => {
      const detail = check(text);
      if (detail !== undefined) report(run, fieldError.invalid(run.path, text, detail));
    });
  }
  if (checks.length === 0) return undefined;
  return (value, run) => {
    if (typeof value === "string") for (const check of checks) check(value, run);
  };
}

/** Beyond the budget of steps no pattern is tried; the caller of the validation sees that (`mostPatternSteps`). */
function patternCheck(pattern: string): (text: string, run: ValidationRun) => void {
  const detail = `must match the pattern ${JSON.stringify(pattern)}`;
  // Of the patterns of a definition few are ever used, and each takes some 70 µs to compile.
  let compiled: Result<Re2, string> | undefined;
  return (text, run) => {
    compiled ??= compileRe2(pattern);
    // The structural check refuses such patterns; a value must not pass because a rule cannot be read.
    if (!compiled.ok) return report(run, fieldError.invalid(run.path, text, compiled.error));
    run.patternSteps.left -= compiled.value.size * text.length;
    if (run.patternSteps.left < 0 || compiled.value.test(text)) return;
    report(run, fieldError.invalid(run.path, text, detail));
  };
}

/** One check for lists and objects: only the limits of the value's own type stand beside it in a sound schema. */
function sizeCheck(schema: Schema): Check | undefined {
  const { minItems, maxItems, minProperties, maxProperties } = schema;
  if ([minItems, maxItems, minProperties, maxProperties].every((limit) => limit === undefined)) return undefined;
  const check = (
    run: ValidationRun,
    value: JsonValue,
    count: number,
    min: number | undefined,
    max: number | undefined,
    unit: string,
  ) => {
    if (min !== undefined && count < min)
      report(run, fieldError.invalid(run.path, value, `must have at least ${min} ${unit}`));
    if (max !== undefined && count > max) report(run, fieldError.tooMany(run.path, count, max));
  };
  return (value, run) => {
    if (Array.isArray(value)) check(run, value, value.length, minItems, maxItems, "items");
    else if (isJsonObject(value)) check(run, value, Object.keys(value).length, minProperties, maxProperties, "members");
  };
}
