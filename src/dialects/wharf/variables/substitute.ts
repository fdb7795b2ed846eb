// `${name}` in texts. Undefined names are left as written, because shells use the same syntax; `${%HOME%}` escapes
// `${HOME}`.

import type { Reporter, Spot } from "../definition/diagnostics.ts";
import { asText } from "../definition/scalar.ts";
import type { Scalar } from "../definition/node.ts";
import type { Variable, Variables } from "./variable.ts";

export interface Substituted {
  readonly scalar: Scalar;
  readonly used: ReadonlySet<Variable>;
  /** Undefined names, left as written for a shell to expand. */
  readonly unknown: ReadonlySet<string>;
}

export interface Failure {
  readonly code: "var-loop" | "too-large";
  readonly message: string;
}

const reference = /\$\{([^}]*)\}/g;
/** `${%text%}`, `${%}` and `${%%}`. */
const escaped = /^%(?:(.*)%)?$/s;

const maxNesting = 100;
/** Bounds of one text and of all texts of a substituter: variables can double each other. */
const longestText = 1024 * 1024;
const longestTotal = 16 * longestText;

export interface Substituter {
  /** A text that is a single variable keeps the type of its value. */
  substitute(text: string): Substituted | Failure;
}

export function createSubstituter(variables: Variables): Substituter {
  const state: State = { variables, done: new Map(), lengthLeft: longestTotal };
  return { substitute: (text) => (text.includes("${") ? substituteText(state, text, []) : plain(asText(text))) };
}

export const reportFailure = ({ code, message }: Failure, spot: Spot, { error }: Reporter): void =>
  error(spot, code === "var-loop" ? "var-loop" : "too-large", message);

export const isFailure = (result: Substituted | Failure): result is Failure => "code" in result;

interface State {
  readonly variables: Variables;
  readonly done: Map<string, Substituted>;
  lengthLeft: number;
}

const plain = (scalar: Scalar): Substituted => ({ scalar, used: new Set(), unknown: new Set() });

function substituteText(state: State, text: string, chain: readonly string[]): Substituted | Failure {
  const used = new Set<Variable>();
  const unknown = new Set<string>();
  const parts: string[] = [];
  let length = 0;
  let end = 0;
  for (const match of text.matchAll(reference)) {
    const [whole, body = ""] = match;
    const piece = resolve(state, whole, body, chain);
    if (isFailure(piece)) return piece;
    for (const variable of piece.used) used.add(variable);
    for (const name of piece.unknown) unknown.add(name);
    if (whole === text) return { scalar: isNothing(piece.scalar) ? asText("") : piece.scalar, used, unknown };
    const added = [text.slice(end, match.index), textOf(piece.scalar)];
    parts.push(...added);
    end = match.index + whole.length;
    const more = added.join("").length;
    length += more;
    state.lengthLeft -= more;
    if (length > longestText || state.lengthLeft < 0) return tooLarge;
  }
  return { scalar: asText(parts.join("") + text.slice(end)), used, unknown };
}

const tooLarge: Failure = {
  code: "too-large",
  message: "variables make the text larger than 1 MiB, or all texts of the file larger than 16 MiB",
};

const isNothing = ({ tag }: Scalar): boolean => tag === "null";
const textOf = (scalar: Scalar): string => (isNothing(scalar) ? "" : scalar.text);

function resolve(state: State, whole: string, body: string, chain: readonly string[]): Substituted | Failure {
  const escape = escaped.exec(body);
  if (escape !== null) return plain(asText(`\${${escape[1] ?? ""}}`));
  const name = body.trim();
  if (name === "" || name.startsWith("%")) return plain(asText(whole));
  const variable = state.variables.get(name);
  if (variable === undefined) return { ...plain(asText(whole)), unknown: new Set([name]) };
  return valueOf(state, variable, chain);
}

function valueOf(state: State, variable: Variable, chain: readonly string[]): Substituted | Failure {
  const { name, tag, text, value: own } = variable;
  const used = new Set([variable]);
  if (tag !== "string" || !text.includes("${")) return { ...plain({ tag, text, value: own }), used };
  const done = state.done.get(name);
  if (done !== undefined) return done;
  const way = [...chain, name];
  if (chain.includes(name)) return { code: "var-loop", message: `the variable contains itself: ${way.join(" -> ")}` };
  if (way.length > maxNesting)
    return {
      code: "var-loop",
      message: `variables are nested deeper than ${maxNesting}: ${way.slice(0, 3).join(" -> ")} -> …`,
    };
  const value = substituteText(state, text, way);
  if (isFailure(value)) return value;
  const found = { ...value, used: new Set([...used, ...value.used]) };
  state.done.set(name, found);
  return found;
}
