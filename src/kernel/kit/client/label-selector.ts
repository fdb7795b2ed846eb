import { err, isJsonObject, ok, type Result } from "#lib/base/index.ts";
import { labelValueRule, qualifiedNameRule } from "#kernel/model/index.ts";

// Kubernetes' label selectors, for server, informers and the in-memory client. Syntax and matching follow
// apimachinery's `labels` package.

/** `NotIn` (`!=`) and `DoesNotExist` match objects without the label. `Gt` and `Lt` compare 64-bit integers only. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: "In" | "NotIn"; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: "Exists" | "DoesNotExist" }
  | { readonly key: string; readonly operator: "Gt" | "Lt"; readonly bound: bigint };

export type LabelSelector = readonly LabelRequirement[];
export type Labels = Readonly<Record<string, string>> | undefined;

const maxTerms = 1000;
const token = /\s*(?:(==|!=|[=!,()<>])|([^\s=!,()<>]+))/gy;

/**
 * Reads `app=web,tier in (a, b),!legacy,weight>3`. Keys and values must be valid labels. `key=`, `key in ()` and `key
 * in (,a)` name the empty value. The error says what was expected where: `expected ")" or "," at character 9, found the
 * end`.
 */
export function parseLabelSelector(text: string): Result<LabelSelector, string> {
  if (text.trim() === "") return ok([]);
  const reader = new SelectorReader(text);
  const requirements: LabelRequirement[] = [];
  for (;;) {
    const requirement = readRequirement(reader);
    if (!requirement.ok) return requirement;
    requirements.push(requirement.value);
    if (requirements.length > maxTerms) return err(`a selector may have at most ${maxTerms} terms`);
    if (reader.atEnd()) return ok(requirements);
    if (!reader.take(",")) return reader.expected('","');
  }
}

/** `labelMatcher` is faster for many objects. */
export const matchesLabels = (selector: LabelSelector, labels: Labels): boolean =>
  selector.every((requirement) => holds(requirement, labels));

/** `constructor` is a legal key. */
function holds(requirement: LabelRequirement, labels: Labels): boolean {
  const value = labels !== undefined && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case "In":
      return value !== undefined && requirement.values.includes(value);
    case "NotIn":
      return value === undefined || !requirement.values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return (integerOf(value) ?? requirement.bound) > requirement.bound;
    case "Lt":
      return (integerOf(value) ?? requirement.bound) < requirement.bound;
  }
}

/** Reads a `metav1.LabelSelector`. `{}` selects everything; undefined, nothing in Kubernetes, is an error. */
export function readLabelSelector(value: unknown): Result<LabelSelector, string> {
  if (!isJsonObject(value)) return err("expected a label selector with matchLabels or matchExpressions");
  const { matchLabels = {}, matchExpressions = [] } = value;
  if (!isJsonObject(matchLabels)) return err("matchLabels must be a map of texts");
  if (!Array.isArray(matchExpressions)) return err("matchExpressions must be a list");
  const requirements: LabelRequirement[] = [];
  for (const [key, label] of Object.entries(matchLabels)) {
    if (typeof label !== "string") return err(`matchLabels[${key}] must be a text`);
    const problem = problemOf(key, [label]);
    if (problem !== undefined) return err(problem);
    requirements.push({ key, operator: "In", values: [label] });
  }
  for (const expression of matchExpressions as readonly unknown[]) {
    const requirement = readExpression(expression);
    if (!requirement.ok) return requirement;
    requirements.push(requirement.value);
  }
  return ok(requirements);
}

/** Reading the text gives the same selector. */
export const formatLabelSelector = (selector: LabelSelector): string => selector.map(formatRequirement).join(",");

function formatRequirement(requirement: LabelRequirement): string {
  const { key } = requirement;
  switch (requirement.operator) {
    case "In":
      return requirement.values.length === 1
        ? `${key}=${requirement.values[0]}`
        : `${key} in (${requirement.values.join(",")})`;
    case "NotIn":
      return requirement.values.length === 1
        ? `${key}!=${requirement.values[0]}`
        : `${key} notin (${requirement.values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
    case "Gt":
      return `${key}>${requirement.bound}`;
    case "Lt":
      return `${key}<${requirement.bound}`;
  }
}

function readExpression(value: unknown): Result<LabelRequirement, string> {
  if (!isJsonObject(value) || typeof value["key"] !== "string") return err("a match expression needs a key");
  const { key, operator, values = [] } = value;
  if (!Array.isArray(values)) return err(`the values of ${key} must be a list`);
  const given: readonly unknown[] = values;
  const texts = given.filter((item) => typeof item === "string");
  if (texts.length < given.length) return err(`the values of ${key} must be texts`);
  const problem = problemOf(key, texts);
  if (problem !== undefined) return err(problem);
  if (operator === "Exists" || operator === "DoesNotExist")
    return texts.length === 0 ? ok({ key, operator }) : err(`${operator} takes no values for ${key}`);
  if (operator !== "In" && operator !== "NotIn") return err(`unknown operator ${JSON.stringify(operator)} for ${key}`);
  if (texts.length === 0) return err(`${operator} needs at least one value for ${key}`);
  return ok({ key, operator, values: texts });
}

function problemOf(key: string, values: readonly string[]): string | undefined {
  const wrongKey = qualifiedNameRule(key);
  if (wrongKey !== undefined) return `key ${JSON.stringify(key)}: ${wrongKey}`;
  for (const value of values) {
    const wrong = labelValueRule(value);
    if (wrong !== undefined) return `value ${JSON.stringify(value)} of ${key}: ${wrong}`;
  }
  return undefined;
}

function readRequirement(reader: SelectorReader): Result<LabelRequirement, string> {
  const negated = reader.take("!");
  const key = reader.word();
  if (key === undefined) return reader.expected("a label key");
  const requirement = negated ? ok({ key, operator: "DoesNotExist" as const }) : readCondition(reader, key);
  if (!requirement.ok) return requirement;
  const problem = problemOf(key, "values" in requirement.value ? requirement.value.values : []);
  return problem === undefined ? requirement : err(problem);
}

function readCondition(reader: SelectorReader, key: string): Result<LabelRequirement, string> {
  if (reader.atEnd() || reader.peek() === ",") return ok({ key, operator: "Exists" });
  const operator = reader.next() ?? "";
  switch (operator) {
    case "=":
    case "==":
      return ok({ key, operator: "In", values: [reader.word() ?? ""] });
    case "!=":
      return ok({ key, operator: "NotIn", values: [reader.word() ?? ""] });
    case "in":
      return readSet(reader, key, "In");
    case "notin":
      return readSet(reader, key, "NotIn");
    case ">":
      return readBound(reader, key, "Gt");
    case "<":
      return readBound(reader, key, "Lt");
    default:
      return reader.expected("an operator (=, !=, in, notin, >, <)", 1);
  }
}

/** A missing value is the empty one, so that `()` is a set of one. */
function readSet(reader: SelectorReader, key: string, operator: "In" | "NotIn"): Result<LabelRequirement, string> {
  if (!reader.take("(")) return reader.expected('"("');
  const values: string[] = [];
  for (;;) {
    values.push(reader.word() ?? "");
    if (reader.take(")")) return ok({ key, operator, values });
    if (!reader.take(",")) return reader.expected('"," or ")"');
  }
}

function readBound(reader: SelectorReader, key: string, operator: "Gt" | "Lt"): Result<LabelRequirement, string> {
  const word = reader.word();
  const bound = integerOf(word);
  // A label cannot begin with a sign.
  const isRight = bound !== undefined && bound >= 0n;
  return isRight ? ok({ key, operator, bound }) : reader.expected("a whole number", word === undefined ? 0 : 1);
}

/** Undefined unless it fits into 64 bits, as in Kubernetes. */
export function integerOf(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** `at` counts characters from 1. */
interface Token {
  readonly text: string;
  readonly isWord: boolean;
  readonly at: number;
}

/** Whether `in` is a word or an operator depends on the place: `in in (in)` is legal. */
class SelectorReader {
  readonly #tokens: readonly Token[];
  readonly #length: number;
  #index = 0;

  constructor(text: string) {
    this.#length = text.length;
    this.#tokens = [...text.matchAll(token)].map((match) => ({
      text: match[1] ?? match[2] ?? "",
      isWord: match[2] !== undefined,
      at: match.index + match[0].length - (match[1] ?? match[2] ?? "").length + 1,
    }));
  }

  atEnd = (): boolean => this.#index >= this.#tokens.length;
  peek = (): string | undefined => this.#tokens[this.#index]?.text;
  next = (): string | undefined => this.#tokens[this.#index++]?.text;

  take(symbol: string): boolean {
    const found = this.#tokens[this.#index];
    if (found === undefined || found.isWord || found.text !== symbol) return false;
    this.#index++;
    return true;
  }

  word(): string | undefined {
    const found = this.#tokens[this.#index];
    if (found === undefined || !found.isWord) return undefined;
    this.#index++;
    return found.text;
  }

  /** The error at this place, or `ago` tokens before it. */
  expected(what: string, ago = 0): Result<never, string> {
    const found = this.#tokens[this.#index - ago];
    const place = found === undefined ? this.#length + 1 : found.at;
    const seen = found === undefined ? "the end" : JSON.stringify(found.text);
    return err(`expected ${what} at character ${place}, found ${seen}`);
  }
}
