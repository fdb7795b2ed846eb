import { didYouMean } from "#lib/text/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import { parsePath } from "../json-path.ts";

/** The names that a condition may use. */
export interface ConditionScope {
  /** Steps and sub-steps. */
  readonly steps: ReadonlySet<string>;
  /** Components that steps apply; `status` has them, too. */
  readonly components: ReadonlySet<string>;
}

/** `at` is the offset of what is wrong. */
export interface Fault {
  readonly message: string;
  readonly at: number;
  readonly hint?: string;
}

/** Everything wrong with the text of `if` that shows without evaluating it. */
export async function conditionFaults(
  text: string,
  scope: ConditionScope,
  cue: Pick<Cue, "references">,
  signal?: AbortSignal,
): Promise<readonly Fault[]> {
  if (text.trim() === "always") return [];
  if (text.trim() === "") return [{ message: "expected a condition, found nothing", at: 0 }];
  const read = await cue.references(text, signal);
  // Other failures say nothing about the text.
  if (!read.ok && read.error.kind !== "template") return [];
  // Texts and comments, whose words are no names.
  const bare = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*/g, (found) => " ".repeat(found.length));
  if (!read.ok) {
    const [{ message, line = 1, column = 1 } = { message: read.error.message }] = read.error.problems;
    const before = text.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, each) => sum + each.length + 1, 0) + column - 1;
    return [{ message, at, ...withHint(syntaxHint(bare)) }];
  }
  const kind = /^\d[\d.]*$/.test(text.trim()) ? "a number" : /^"[^"\\]*"$/.test(text.trim()) ? "a string" : undefined;
  if (kind !== undefined) {
    const hint = "write a CUE condition such as status.build.succeeded, or always";
    return [{ message: `expected a condition that is true or false, found ${kind}`, at: text.search(/\S/), hint }];
  }
  const hyphens = hyphenFaults(bare, scope);
  return hyphens.length > 0 ? hyphens : read.value.flatMap((reference) => referenceFaults(text, reference, scope));
}

const withHint = (hint: string | undefined) => (hint === undefined ? {} : { hint });

const operators: Readonly<Record<string, string>> = { and: "&&", or: "||", not: "!" };

function syntaxHint(text: string): string | undefined {
  if (/[^=!<>]=(?![=~])/.test(text)) return "write ==";
  const [word] = /\b(?:and|or|not)\b/.exec(text) ?? [];
  return word === undefined ? undefined : `write ${operators[word] ?? ""} for ${word}`;
}

/** CUE reads a hyphen as minus. */
function hyphenFaults(text: string, { steps, components }: ConditionScope): readonly Fault[] {
  const hyphenated = /(?<![\p{L}\w$.])(status\.)?([\p{L}_$][\p{L}\w$]*(?:-[\p{L}\w$]+)+)((?:\.[\p{L}\w$]+)*)/gu;
  return [...text.matchAll(hyphenated)].flatMap(({ index, 1: status = "", 2: name = "", 3: rest = "" }) => {
    const isStatus = status !== "";
    const isName = (one: string): boolean => steps.has(one) || (isStatus && components.has(one));
    if (!isName(name) && !(isStatus && !isName(name.split("-")[0] ?? ""))) return [];
    const hint = `write ${isStatus ? "status" : "steps"}["${name}"]${rest}`;
    return { message: `"${name}" is not an identifier: CUE reads "-" as minus`, at: index + status.length, hint };
  });
}

const known = new Set([
  ..."status inputs context parameter steps true false null len and or div mod quo rem close".split(" "),
  ..."string bytes number int float bool strings strconv list math regexp".split(" "),
  // Phases evaluate to their own names.
  ..."succeeded failed skipped running pending suspending timeout".split(" "),
]);

/** `status.x` and `steps["x"]` name steps, unless a step has the name `status`. */
function referenceFaults(text: string, reference: string, { steps, components }: ConditionScope): readonly Fault[] {
  const [root, member] = parsePath(reference) ?? [reference];
  if (typeof root !== "string" || steps.has(root)) return [];
  const isMember = (root === "status" || root === "steps") && typeof member === "string";
  const name = isMember ? member : root;
  const others = isMember ? [...steps, ...(root === "status" ? components : [])] : [...steps, ...known];
  if (others.includes(name)) return [];
  const at = Math.max(0, text.indexOf(isMember && text.includes(`"${name}"`) ? `"${name}"` : name));
  const message = `unknown ${isMember ? "step" : "name"} "${name}"`;
  return [{ message, at, ...withHint(didYouMean(name, others)) }];
}
