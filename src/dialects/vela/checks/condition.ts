import { didYouMean } from "#lib/text/index.ts";
import { type Fault, type Token, tokensOf } from "./condition-tokens.ts";

/** The names that a condition may use. */
export interface ConditionScope {
  /** Steps and sub-steps. */
  readonly steps: ReadonlySet<string>;
  /** Components that steps apply; `status` has them, too. */
  readonly components: ReadonlySet<string>;
}

/** Everything wrong with the text of `if` that shows without evaluating it. */
export function conditionFaults(text: string, scope: ConditionScope): readonly Fault[] {
  if (text.trim() === "always") return [];
  const { tokens, fault } = tokensOf(text);
  if (fault !== undefined) return [fault];
  const wrong = bracketFault(tokens) ?? valueFault(tokens);
  if (wrong !== undefined) return [wrong];
  // Comprehensions have a syntax and variables of their own.
  if (tokens.some(({ text: word }) => ["for", "let", "{"].includes(word))) return [];
  const misplaced = operatorFault(tokens, text.length);
  return misplaced === undefined ? referenceFaults(text, tokens, scope) : [misplaced];
}

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

function bracketFault(tokens: readonly Token[]): Fault | undefined {
  const open: Token[] = [];
  for (const token of tokens) {
    if (token.kind === "open") open.push(token);
    if (token.kind !== "close") continue;
    const wanted = closing[open.pop()?.text ?? ""];
    if (wanted !== token.text) return { message: `unexpected "${token.text}"`, at: token.start };
  }
  const left = open.at(-1);
  return left && { message: `"${left.text}" is never closed`, at: left.start };
}

/** A condition is true or false. */
function valueFault(tokens: readonly Token[]): Fault | undefined {
  const [first, second] = tokens;
  if (first === undefined) return { message: "expected a condition, found nothing", at: 0 };
  if (second !== undefined || !["text", "number"].includes(first.kind)) return undefined;
  const found = first.kind === "text" ? "a string" : "a number";
  const hint = "write a CUE condition such as status.build.succeeded, or always";
  return { message: `expected a condition that is true or false, found ${found}`, at: first.start, hint };
}

const isOperand = ({ kind, text }: Token): boolean =>
  ["name", "number", "text", "close"].includes(kind) || text === "_|_";
const startsOperand = ({ kind, text }: Token): boolean =>
  ["name", "number", "text"].includes(kind) || text === "_|_" || text === "(";
/** Operators that may stand before a single value. */
const isUnary = ({ text }: Token): boolean => /^(?:[!+\-<>*]|[!<>]=|=~|!~)$/.test(text);
const words: Readonly<Record<string, string>> = { and: "&&", or: "||", not: "!" };

function operatorFault(tokens: readonly Token[], length: number): Fault | undefined {
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    if (token.text === "=") return { message: 'unexpected "="', at: token.start, hint: "write ==" };
    if (token.kind === "operator" || token.kind === "dot") {
      if (next === undefined) return { message: `expected a value after "${token.text}"`, at: length };
      if (next.kind === "close" || (next.kind === "operator" && !isUnary(next)))
        return { message: `expected a value after "${token.text}", found "${next.text}"`, at: next.start };
    }
    if (index === 0 && token.kind === "operator" && !isUnary(token))
      return { message: `expected a value before "${token.text}"`, at: token.start };
    if (next !== undefined && isOperand(token) && startsOperand(next) && next.text !== "(")
      return { message: `expected an operator before "${next.text}"`, at: next.start, ...wordHint(token, next) };
  }
  return undefined;
}

function wordHint(...tokens: readonly Token[]): { readonly hint?: string } {
  const word = tokens.find(({ text }) => words[text] !== undefined)?.text;
  return word === undefined ? {} : { hint: `write ${words[word] ?? ""} for ${word}` };
}

const known = new Set([
  ..."status inputs context parameter steps true false null len and or div mod quo rem close".split(" "),
  ..."string bytes number int float bool strings strconv list math regexp".split(" "),
  // Phases evaluate to their own names.
  ..."succeeded failed skipped running pending suspending timeout".split(" "),
]);

function referenceFaults(text: string, tokens: readonly Token[], scope: ConditionScope): readonly Fault[] {
  const stepNames = [...scope.steps];
  return tokens.flatMap((token, index): readonly Fault[] => {
    const before = tokens[index - 1];
    if (token.kind !== "name" || before?.kind === "dot" || /^(?:_|if)$/.test(token.text)) return [];
    const hyphen = hyphenFault(text, tokens, index, scope);
    if (hyphen !== undefined) return [hyphen];
    if (isHyphenated(tokens, index, scope)) return [];
    if (token.text === "status" || token.text === "steps") return memberFault(tokens, index, scope);
    if (known.has(token.text) || scope.steps.has(token.text)) return [];
    const hint = didYouMean(token.text, [...stepNames, ...known]);
    return [{ message: `unknown name "${token.text}"`, at: token.start, ...(hint === undefined ? {} : { hint }) }];
  });
}

/** `status.x` and `steps["x"]` name steps. */
function memberFault(tokens: readonly Token[], index: number, scope: ConditionScope): readonly Fault[] {
  const [root, mark, member] = [tokens[index], tokens[index + 1], tokens[index + 2]];
  if (root === undefined || mark === undefined || member === undefined) return [];
  const isQuoted = mark.text === "[" && /^"[^"\\]*"$/.test(member.text);
  if (!isQuoted && !(mark.kind === "dot" && member.kind === "name")) return [];
  const name = isQuoted ? member.text.slice(1, -1) : member.text;
  if (scope.steps.has(name) || (root.text === "status" && scope.components.has(name))) return [];
  // A step may have the name `status`, whose members are not steps.
  if (scope.steps.has(root.text)) return [];
  const hint = didYouMean(name, root.text === "status" ? [...scope.steps, ...scope.components] : scope.steps);
  return [{ message: `unknown step "${name}"`, at: member.start, ...(hint === undefined ? {} : { hint }) }];
}

/** `a-b` without blanks: the name that was probably meant, and the index behind it. */
function joined(tokens: readonly Token[], index: number): { readonly name: string; readonly end: number } | undefined {
  let [name, end] = [tokens[index]?.text ?? "", index + 1];
  for (;;) {
    const [last, dash, part] = [tokens[end - 1], tokens[end], tokens[end + 1]];
    const isJoined = dash?.text === "-" && dash.start === last?.end && part?.start === dash.end;
    if (!isJoined || !["name", "number"].includes(part.kind)) break;
    name += `-${part.text}`;
    end += 2;
  }
  return end === index + 1 ? undefined : { name, end };
}

/** CUE reads a hyphen as minus. */
function hyphenFault(text: string, tokens: readonly Token[], index: number, scope: ConditionScope): Fault | undefined {
  const isStatus = tokens[index]?.text === "status" && tokens[index + 1]?.kind === "dot";
  const from = isStatus ? index + 2 : index;
  const meant = joined(tokens, from);
  const isName = (name: string): boolean => scope.steps.has(name) || (isStatus && scope.components.has(name));
  if (meant === undefined || (!isName(meant.name) && !(isStatus && !isName(tokens[from]?.text ?? ""))))
    return undefined;
  let end = meant.end;
  while (tokens[end]?.kind === "dot" && tokens[end + 1]?.kind === "name") end += 2;
  const rest = text.slice(tokens[meant.end - 1]?.end, tokens[end - 1]?.end);
  const at = tokens[from]?.start ?? 0;
  const hint = `write ${isStatus ? "status" : "steps"}["${meant.name}"]${rest}`;
  return { message: `"${meant.name}" is not an identifier: CUE reads "-" as minus`, at, hint };
}

/** Whether an earlier name of `a-b` was reported. */
function isHyphenated(tokens: readonly Token[], index: number, scope: ConditionScope): boolean {
  const before = tokens.slice(Math.max(0, index - 20), index);
  return before.some((token, at) => {
    const from = index - before.length + at;
    const meant = token.kind === "name" ? joined(tokens, from) : undefined;
    if (meant === undefined || index >= meant.end) return false;
    return scope.steps.has(meant.name) || tokens[from - 2]?.text === "status";
  });
}
