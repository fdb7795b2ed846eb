import { type ASTNode, EvaluationError, ParseError, TypeError as CelTypeError } from "@marcbachmann/cel-js";
import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import { CostExceeded, meterProgram } from "./cost.ts";
import { type Prepared, prepareEnvironment } from "./environment.ts";
import { replaceHas } from "./has.ts";
import { resolveName, withoutMarks } from "./names.ts";
import { allNodes, findUses } from "./syntax.ts";
import type { CelBindings, CelEnvironment, CelEvaluateOptions, CelProblem, CelProgram } from "./types.ts";
import { fromCel, toCel } from "./values.ts";

// From text to program, in this order, each step relying on the one before:
//
//   parse ──▶ find uses (names as written) ──▶ adapt calls ──▶ check types ──▶ attach the meter

/** What is wrong with an expression; the offset is in UTF-16 code units of its source. */
export interface CompileFault {
  readonly kind: CelProblem["kind"];
  readonly message: string;
  readonly offset: number;
}

/** Longer sources are refused: no rule or condition that people write comes near. */
const longestSource = 20_000;
/** Units of one evaluation unless told otherwise; the rules of CustomResourceDefinitions ask for more. */
const defaultCostLimit = 100_000;

/** Steps of long documents repeat: an environment caches this many short programs, then drops all. */
const mostPrograms = 256;
const longestKept = 256;

/**
 * Parses, rewrites, type-checks and meters an expression. Never throws for a source; throws for an environment with
 * malformed types or signatures. The programs of an
 * environment share one meter; evaluations are synchronous, and one inside another saves and restores what is left.
 */
export function compileSource(source: string, environment: CelEnvironment): Result<CelProgram, CompileFault> {
  if (source.length > longestSource) {
    const message = `an expression may have at most ${longestSource} characters`;
    return err({ kind: "syntax", message, offset: longestSource });
  }
  try {
    return compileUnguarded(source, environment);
  } catch (thrown) {
    // The library throws for syntax errors; a RangeError is a chain of operators too long for the call stack.
    if (thrown instanceof RangeError)
      return err({ kind: "syntax", message: "the expression is nested too deeply", offset: 0 });
    return err(toFault(thrown, environment));
  }
}

function compileUnguarded(source: string, environment: CelEnvironment): Result<CelProgram, CompileFault> {
  const prepared = prepareEnvironment(environment);
  const known = prepared.programs.get(source);
  if (known !== undefined) return ok(known);
  const parsed = prepared.cel.parse(source);
  const uses = findUses(parsed.ast);
  adaptCalls(parsed.ast, prepared);
  const checked = parsed.check();
  if (!checked.valid) return err(toFault(checked.error, environment));
  const baseCost = meterProgram(parsed.ast, prepared.running.meter);
  const roots = new Set(uses.variables.map((use) => use.root));
  const program: CelProgram = {
    source,
    resultType: withoutMarks(checked.type ?? "dyn"),
    references: {
      variables: uses.variables.map((use) => ({ root: use.root, path: use.path, ...placeAt(source, use.offset) })),
      functions: uses.functions,
    },
    evaluate: (bindings, options = {}) => {
      const context = contextOf(roots, environment, bindings);
      return runMetered(prepared, bindings, baseCost, options, () => fromCel(parsed(context)));
    },
  };
  if (source.length <= longestKept) keep(program, prepared);
  return ok(program);
}

function keep(program: CelProgram, { programs }: Prepared): void {
  if (programs.size >= mostPrograms) programs.clear();
  programs.set(program.source, program);
}

/** Sends calls of functions that this folder replaces to the replacements. */
function adaptCalls(root: ASTNode, prepared: Prepared): void {
  for (const node of allNodes(root)) {
    if (node.op !== "call" && node.op !== "rcall") continue;
    // The tree was made by the parse above and belongs to us; its types say read-only for readers.
    const args: unknown[] = node.args;
    args[0] = resolveName(node.args[0]);
    replaceHas(node, prepared.cel);
  }
}

/** The values of the variables an expression uses, as CEL sees them. */
function contextOf(
  roots: ReadonlySet<string>,
  environment: CelEnvironment,
  bindings: CelBindings,
): Record<string, unknown> {
  const context: Record<string, unknown> = {};
  for (const name of roots) {
    const value = Object.hasOwn(bindings, name) ? bindings[name] : undefined;
    if (value === undefined) continue;
    context[name] = typeof value === "number" ? toNumber(value, environment.variables[name]) : toCel(value);
  }
  return context;
}

/** JSON does not tell 1 from 1.0 or 1u, but a variable declared as a double or a uint is always one. */
function toNumber(value: number, declared: string | undefined): unknown {
  if (declared === "double") return value;
  const isUnsigned = declared === "uint" && Number.isSafeInteger(value) && value >= 0;
  return isUnsigned ? new UnsignedInt(BigInt(value)) : toCel(value);
}

/** Runs an evaluation on the budget of `limit` units and restores what the evaluation around it had left. */
function runMetered<T>(
  prepared: Prepared,
  bindings: CelBindings,
  baseCost: number,
  options: CelEvaluateOptions,
  run: () => T,
): Result<T, string> {
  const { running } = prepared;
  const outer = { bindings: running.bindings, left: running.meter.left };
  const limit = options.costLimit ?? defaultCostLimit;
  const tooExpensive = `the evaluation costs more than its limit of ${limit} units`;
  running.bindings = bindings;
  running.meter.left = limit - baseCost;
  try {
    const value = run();
    // A macro may have kept back the error that ended its part of the work.
    return running.meter.left < 0 ? err(tooExpensive) : ok(value);
  } catch (thrown) {
    return err(thrown instanceof CostExceeded || running.meter.left < 0 ? tooExpensive : evaluationMessage(thrown));
  } finally {
    if (options.budget !== undefined) options.budget.left -= limit - running.meter.left;
    running.bindings = outer.bindings;
    running.meter.left = outer.left;
  }
}

/** What a failed evaluation says: the library's message in our words, or that of the function that threw. */
function evaluationMessage(thrown: unknown): string {
  const summary = thrown instanceof EvaluationError ? thrown.summary : messageOf(thrown);
  const missing = /^Unknown variable: (.*)$/.exec(summary);
  return missing === null ? tidy(summary) : `the variable ${JSON.stringify(missing[1])} has no value here`;
}

/** True for an evaluation's error of a missing value, which it would find once it exists. */
export const isMissingValue = (error: string): boolean =>
  /^no such key: |^the variable .* has no value here$/.test(error);

// The library tells its errors apart by class and text only. Its package is pinned exactly, and `program.test.ts` knows
// the texts.
/** A parse or type error as a fault; everything else is a bug and thrown on. */
function toFault(thrown: unknown, environment: CelEnvironment): CompileFault {
  if (thrown instanceof ParseError) return { kind: "syntax", message: tidy(thrown.summary), offset: startOf(thrown) };
  if (!(thrown instanceof CelTypeError || thrown instanceof EvaluationError)) throw thrown;
  const offset = startOf(thrown);
  const variable = /^Unknown variable: (.*)$/.exec(thrown.summary)?.[1];
  if (variable !== undefined) {
    const message = unknownName("variable", variable, Object.keys(environment.variables));
    return { kind: "unknown-variable", message, offset };
  }
  const called = /^found no matching overload for '(?:.*\.)?(\w+)\(/.exec(thrown.summary)?.[1];
  const functions = called === undefined ? [] : functionNames(environment);
  if (called === undefined || functions.includes(withoutMarks(called))) {
    return { kind: "type", message: tidy(thrown.summary), offset };
  }
  return { kind: "unknown-function", message: unknownName("function", called, functions), offset };
}

const startOf = (error: ParseError | CelTypeError | EvaluationError): number => error.range?.start ?? 0;

/** Every function that could have been meant, marked or not; only asked for when a name is wrong. */
const functionNames = (environment: CelEnvironment): readonly string[] =>
  prepareEnvironment(environment)
    .cel.getDefinitions()
    .functions.map(({ name }) => withoutMarks(name));

function unknownName(what: string, name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
  return `there is no ${what} ${JSON.stringify(name)}${hint}`;
}

/** The library's messages in our words: no marks, types without the wrapping that says "only known at run time". */
function tidy(message: string): string {
  const text = withoutMarks(message).replace(/dyn<((?:[^<>]|<[^<>]*>)*)>/g, "$1");
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Line and column of an offset, both from 1; columns count UTF-16 code units. */
export function placeAt(source: string, offset: number): { readonly line: number; readonly column: number } {
  const before = source.slice(0, offset);
  return { line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
}
