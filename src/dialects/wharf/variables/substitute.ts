// `${name}` in texts. Shells write their variables in the same way, which is why names that nobody knows are left as they are, and why there is an
// escape for those that somebody does: `${%HOME%}` is `${HOME}`.

import type { Reporter, Spot } from "../definition/diagnostics.ts";
import { asText } from "../definition/scalar.ts";
import type { Scalar } from "../definition/node.ts";
import type { Variable, Variables } from "./variable.ts";

/** What a text became. `used` are the variables that were found in it, directly and below. */
export interface Substituted {
  readonly scalar: Scalar;
  readonly used: ReadonlySet<Variable>;
  /** Names that no variable has. They are left as written, so that what a shell is to expand gets there. */
  readonly unknown: ReadonlySet<string>;
}

/** Why a text is left as it is. */
export interface Failure {
  readonly code: "var-loop" | "too-large";
  readonly message: string;
}

const reference = /\$\{([^}]*)\}/g;
/** `${%text%}`, and the two short forms of `${}`. */
const escaped = /^%(?:(.*)%)?$/s;

/** Variables that contain variables that contain variables. */
const maxNesting = 100;
/** Of a text, and of all texts that one substituter makes: variables that double others would fill the memory. */
const longestText = 1024 * 1024;
const longestTotal = 16 * longestText;

/** Substitutes in many texts with the same variables; each variable is expanded once. */
export interface Substituter {
  /** The text with its variables. One that is nothing but a variable takes its value, with its type. */
  substitute(text: string): Substituted | Failure;
}

export function createSubstituter(variables: Variables): Substituter {
  const state: State = { variables, done: new Map(), lengthLeft: longestTotal };
  return { substitute: (text) => (text.includes("${") ? substituteText(state, text, []) : plain(asText(text))) };
}

/** Says why a text is left as it is. */
export const reportFailure = ({ code, message }: Failure, spot: Spot, { error }: Reporter): void =>
  error(spot, code === "var-loop" ? "var-loop" : "too-large", message);

export const isFailure = (result: Substituted | Failure): result is Failure => "code" in result;

/** The text as a text that substitutes to it, whatever variables there are. */
export const escapeVariables = (text: string): string =>
  text.replaceAll(reference, (_whole, body: string) => `\${%${body}%}`);

/** What one substituter remembers. Failures are not remembered: which way a loop is told depends on where it is entered. */
interface State {
  readonly variables: Variables;
  readonly done: Map<string, Substituted>;
  lengthLeft: number;
}

const plain = (scalar: Scalar): Substituted => ({ scalar, used: new Set(), unknown: new Set() });

/** One text, from left to right. O(length of what it becomes); what variables become is looked up, once they were expanded. */
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
    // A text that is a variable and nothing else keeps the type of its value.
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

/** One message for both bounds: whoever meets them has variables that double each other. */
const tooLarge: Failure = {
  code: "too-large",
  message: "variables make the text larger than 1 MiB, or all texts of the file larger than 16 MiB",
};

const isNothing = ({ tag }: Scalar): boolean => tag === "null";
const textOf = (scalar: Scalar): string => (isNothing(scalar) ? "" : scalar.text);

/** What stands for one reference. What an escape becomes is not looked at again. */
function resolve(state: State, whole: string, body: string, chain: readonly string[]): Substituted | Failure {
  const escape = escaped.exec(body);
  if (escape !== null) return plain(asText(`\${${escape[1] ?? ""}}`));
  const name = body.trim();
  if (name === "" || name.startsWith("%")) return plain(asText(whole));
  const variable = state.variables.get(name);
  if (variable === undefined) return { ...plain(asText(whole)), unknown: new Set([name]) };
  return valueOf(state, variable, chain);
}

/** The value of a variable with the variables that it holds, which in turn hold others. `chain` is the way here, for loops. */
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
