import { type ASTNode, EvaluationError, ParseError, TypeError as CelTypeError } from "@marcbachmann/cel-js";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { nearest } from "#lib/text/index.ts";
import { CostExceeded, meterProgram } from "./cost.ts";
import { type Prepared, prepareEnvironment } from "./environment.ts";
import { replaceHas } from "./has.ts";
import { resolveName, withoutMarks } from "./names.ts";
import { allNodes, findUses } from "./syntax.ts";
import type { CelBindings, CelEnvironment, CelEvaluateOptions, CelProblem, CelProgram } from "./types.ts";
import { fromCel, toCel } from "./values.ts";

/** What is wrong with an expression; the offset is in UTF-16 code units of its source. */
export interface CompileFault {
  readonly kind: CelProblem["kind"];
  readonly message: string;
  readonly offset: number;
}

/** Longer sources are refused: no rule or condition that people write comes near. */
const longestSource = 20_000;
const defaultCostLimit = 100_000;

/** Parses, rewrites, type-checks and meters an expression. */
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
  const parsed = prepared.cel.parse(source);
  const uses = findUses(parsed.ast);
  adaptCalls(parsed.ast, prepared);
  const checked = parsed.check();
  if (!checked.valid) return err(toFault(checked.error, environment));
  const baseCost = meterProgram(parsed.ast, prepared.running.meter);
  const roots = new Set(uses.variables.map((use) => use.root));
  return ok({
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
  });
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
    // JSON does not tell 1.0 from 1, but a variable declared as a double is always one.
    const isDouble = environment.variables[name] === "double" && typeof value === "number";
    context[name] = isDouble ? value : toCel(value);
  }
  return context;
}

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
    running.bindings = outer.bindings;
    running.meter.left = outer.left;
  }
}

function evaluationMessage(thrown: unknown): string {
  const summary = thrown instanceof EvaluationError ? thrown.summary : messageOf(thrown);
  const missing = /^Unknown variable: (.*)$/.exec(summary);
  return missing === null ? tidy(summary) : `the variable ${JSON.stringify(missing[1])} has no value here`;
}

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

/** Line and column of an offset, both from 1. */
export function placeAt(source: string, offset: number): { readonly line: number; readonly column: number } {
  const before = source.slice(0, offset);
  return { line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
}
