import { labelValueRule, qualifiedNameRule } from "./names.ts";
import { badRequest } from "./refusals.ts";

type Labels = Readonly<Record<string, string>>;
/** One term of a selector: what it asks of the labels of an object. */
type Requirement = (labels: Labels) => boolean;

const operators = ["==", "=", "!=", ">", "<"] as const;
type Operator = (typeof operators)[number];

/** Compiles Kubernetes' label selector syntax; undefined when it selects everything; 400 when it cannot be read. */
export function parseLabelSelector(text: string, maxLength: number): ((labels: Labels) => boolean) | undefined {
  if (text.length > maxLength) throw badRequest(`the label selector is longer than ${maxLength} characters`);
  if (text.trim() === "") return undefined;
  const requirements = new SelectorReader(text).read();
  return (labels) => requirements.every((matches) => matches(labels));
}

const valueOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;

/** A recursive descent reader over the tokens of one selector. Its life is one call of read. */
class SelectorReader {
  readonly #text: string;
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = text.match(/==|!=|[=!<>(),]|[^\s=!<>(),]+|\s+/g)?.filter((token) => token.trim() !== "") ?? [];
  }

  read(): readonly Requirement[] {
    const requirements = [this.#requirement()];
    while (this.#at < this.#tokens.length) {
      this.#expect(",");
      requirements.push(this.#requirement());
    }
    return requirements;
  }

  #requirement(): Requirement {
    if (this.#take("!")) {
      const absent = this.#key();
      return (labels) => valueOf(labels, absent) === undefined;
    }
    const key = this.#key();
    if (this.#take("in")) return this.#oneOf(key);
    if (this.#take("notin")) {
      const excluded = this.#oneOf(key);
      return (labels) => !excluded(labels);
    }
    const operator = operators.find((sign) => this.#take(sign));
    return operator === undefined ? (labels) => valueOf(labels, key) !== undefined : this.#compare(key, operator);
  }

  #compare(key: string, operator: Operator): Requirement {
    const value = this.#value();
    switch (operator) {
      case "=":
      case "==":
        return (labels) => valueOf(labels, key) === value;
      case "!=":
        return (labels) => valueOf(labels, key) !== value;
      case ">":
        return this.#order(key, value, (found, limit) => found > limit);
      case "<":
        return this.#order(key, value, (found, limit) => found < limit);
    }
  }

  #order(key: string, value: string, holds: (found: bigint, limit: bigint) => boolean): Requirement {
    const limit = integerOf(value);
    if (limit === undefined) throw this.#refuse(`${JSON.stringify(value)} is not an integer`);
    return (labels) => {
      const found = integerOf(valueOf(labels, key) ?? "");
      return found !== undefined && holds(found, limit);
    };
  }

  #oneOf(key: string): Requirement {
    this.#expect("(");
    const values = new Set([this.#value()]);
    while (this.#take(",")) values.add(this.#value());
    this.#expect(")");
    return (labels) => {
      const found = valueOf(labels, key);
      return found !== undefined && values.has(found);
    };
  }

  #key(): string {
    const key = this.#word();
    const wrong = qualifiedNameRule(key);
    if (wrong !== undefined) throw this.#refuse(`key ${JSON.stringify(key)}: ${wrong}`);
    return key;
  }

  #value(): string {
    const next = this.#tokens[this.#at];
    // `key=` and `key in (,a)` name the empty value.
    if (next === undefined || next === "," || next === ")") return "";
    const value = this.#word();
    const wrong = labelValueRule(value);
    if (wrong !== undefined) throw this.#refuse(`value ${JSON.stringify(value)}: ${wrong}`);
    return value;
  }

  #word(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw this.#refuse("it ends too early");
    if (/^[=!<>(),]/.test(token)) throw this.#refuse(`a name was expected, found ${JSON.stringify(token)}`);
    this.#at += 1;
    return token;
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #expect(token: string): void {
    if (this.#take(token)) return;
    const found = this.#tokens[this.#at];
    throw this.#refuse(
      `${JSON.stringify(token)} was expected, found ${found === undefined ? "the end" : JSON.stringify(found)}`,
    );
  }

  #refuse(why: string): Error {
    return badRequest(`unable to parse the label selector ${JSON.stringify(this.#text.slice(0, 200))}: ${why}`);
  }
}

const integerOf = (text: string): bigint | undefined => (/^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined);
