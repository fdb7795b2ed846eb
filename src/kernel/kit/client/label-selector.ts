import { err, isJsonObject, ok, type Result } from "#lib/base/index.ts";

/** One condition of a label selector. `NotIn` and `NotEquals` also hold for objects without the label, as in Kubernetes. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: "In" | "NotIn"; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: "Exists" | "DoesNotExist" }
  | { readonly key: string; readonly operator: "Gt" | "Lt"; readonly bound: number };

/** All requirements must hold; an empty selector matches everything. */
export type LabelSelector = readonly LabelRequirement[];

type Labels = Readonly<Record<string, string>> | undefined;

const maxTerms = 1000;
const token = /\s*(?:(==|!=|[=!,()<>])|([^\s=!,()<>]+))/gy;

/** Reads `app=web,tier in (a, b),!legacy,weight>3`. The error says what was expected at which character (from 1). */
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

/** Do the labels fulfil every requirement? Costs one look per requirement. */
export const matchesLabels = (selector: LabelSelector, labels: Labels): boolean =>
  selector.every((requirement) => holds(requirement, labels));

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
      return isInteger(value) && Number(value) > requirement.bound;
    case "Lt":
      return isInteger(value) && Number(value) < requirement.bound;
  }
}

/**
 * The selector a `metav1.LabelSelector` value (`matchLabels`, `matchExpressions`) stands for, as found in a Job's or
 * Deployment's `spec.selector`. Undefined matches nothing in Kubernetes, which is why it is not accepted here.
 */
export function readLabelSelector(value: unknown): Result<LabelSelector, string> {
  if (!isJsonObject(value)) return err("expected a label selector with matchLabels or matchExpressions");
  const { matchLabels = {}, matchExpressions = [] } = value;
  if (!isJsonObject(matchLabels)) return err("matchLabels must be a map of texts");
  if (!Array.isArray(matchExpressions)) return err("matchExpressions must be a list");
  const requirements: LabelRequirement[] = [];
  for (const [key, label] of Object.entries(matchLabels)) {
    if (typeof label !== "string") return err(`matchLabels[${key}] must be a text`);
    requirements.push({ key, operator: "In", values: [label] });
  }
  for (const expression of matchExpressions as readonly unknown[]) {
    const requirement = readExpression(expression);
    if (!requirement.ok) return requirement;
    requirements.push(requirement.value);
  }
  return ok(requirements);
}

/** The text form of a selector, for `labelSelector` of list and watch. */
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
  if (operator === "Exists" || operator === "DoesNotExist") return ok({ key, operator });
  if (operator !== "In" && operator !== "NotIn") return err(`unknown operator ${JSON.stringify(operator)} for ${key}`);
  if (!Array.isArray(values) || values.length === 0) return err(`${operator} needs at least one value for ${key}`);
  return ok({ key, operator, values: values.map(String) });
}

function readRequirement(reader: SelectorReader): Result<LabelRequirement, string> {
  const negated = reader.take("!");
  const key = reader.word();
  if (key === undefined) return reader.expected("a label key");
  if (negated) return ok({ key, operator: "DoesNotExist" });
  if (reader.atEnd() || reader.peek() === ",") return ok({ key, operator: "Exists" });
  const operator = reader.next();
  // `key=` asks for the empty value, so a missing word is one.
  if (operator === "=" || operator === "==") return ok({ key, operator: "In", values: [reader.word() ?? ""] });
  if (operator === "!=") return ok({ key, operator: "NotIn", values: [reader.word() ?? ""] });
  if (operator === "in") return readSet(reader, key, "In");
  if (operator === "notin") return readSet(reader, key, "NotIn");
  if (operator === ">" || operator === "gt") return readBound(reader, key, "Gt");
  if (operator === "<" || operator === "lt") return readBound(reader, key, "Lt");
  return reader.expected("an operator (=, !=, in, notin, >, <)");
}

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
  return isInteger(word) ? ok({ key, operator, bound: Number(word) }) : reader.expected("an integer");
}

const isInteger = (text: string | undefined): text is string => text !== undefined && /^-?\d{1,15}$/.test(text);

interface Token {
  readonly text: string;
  readonly isWord: boolean;
  readonly at: number;
}

/** Walks over the tokens of one selector text. */
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

  expected(what: string): Result<never, string> {
    const found = this.#tokens[this.#index];
    const place = found === undefined ? this.#length + 1 : found.at;
    const seen = found === undefined ? "the end" : JSON.stringify(found.text);
    return err(`expected ${what} at character ${place}, found ${seen}`);
  }
}
