import type { ASTNode } from "@marcbachmann/cel-js";
import { compileRe2 } from "#lib/text/index.ts";
import { asInteger, laterCharge, matchStepsPerUnit } from "./library/index.ts";
import { resolveName } from "./names.ts";
import { allNodes } from "./syntax.ts";
import { mapOf } from "./values.ts";

/** The budget of the evaluation that is running. */
export interface Meter {
  /** Units left; may be a fraction. Negative: the evaluation is over, whatever it returns. */
  left: number;
}

/** Ends an evaluation whose budget is spent. */
export class CostExceeded extends Error {}

/**
 * The parts of a syntax node that the library keeps for itself. They are the only way to see an evaluation's work: the
 * library counts nothing, and a bound computed in front of the evaluation would have to know sizes that only arise in
 * it. `meterProgram` refuses to run when a part is missing, so that a changed library cannot silently run without a
 * limit.
 */
interface InnerNode {
  readonly op: string;
  readonly args: unknown;
  handle?: Handle;
  readonly meta: { readonly alternate?: InnerNode; readonly evaluate: Evaluate };
  setMeta(name: "evaluate", value: Evaluate): unknown;
}
type Handle = (...args: readonly unknown[]) => unknown;
type Evaluate = (evaluator: Evaluator, node: InnerNode, context: unknown) => unknown;
interface Evaluator {
  run(node: unknown, context: unknown): unknown;
}

const inner = (node: ASTNode): InnerNode => node as unknown as InnerNode;
const brokenLibrary = (part: string): Error =>
  new Error(`the CEL library has no ${part} where its limits are attached`);

/**
 * Makes a checked syntax tree charge its work to the meter: one unit per node of a macro's body and round, and the
 * sizes of what operators and functions read and make. Returns the cost of evaluating every node once.
 */
export function meterProgram(root: ASTNode, meter: Meter): number {
  const nodes = allNodes(root);
  for (const node of nodes) {
    if (node.op === "call" || node.op === "rcall") meterCall(node, node.args[0], meter);
    else if (node.op === "map") keepAllKeys(inner(node));
    else if (meteredOperators.has(node.op)) meterOperator(inner(node), node.op, meter);
  }
  return nodes.length;
}

const meteredOperators = new Set(["==", "!=", "in", "+", "<", "<=", ">", ">="]);

/** Takes units from the meter, or ends the evaluation. */
export function spend(meter: Meter, units: number): void {
  meter.left -= units;
  if (meter.left < 0) throw new CostExceeded();
}

function meterCall(call: ASTNode, name: string, meter: Meter): void {
  const node = inner(call);
  const { alternate } = node.meta;
  if (alternate !== undefined) return meterComprehension(alternate, allNodes(call).length, meter);
  const { handle } = node;
  // Macros such as has() and cel.bind() have no handle; their parts are metered themselves.
  if (handle === undefined) return;
  // These three look at nothing inside of their argument.
  const charges = name !== "size" && name !== "type" && name !== "dyn";
  const matches = patternFunctions.has(name);
  const compiles = matches && !hasConstantPattern(call);
  node.handle = (...parts) => {
    const values = parts[0];
    spend(meter, charges ? sizeOf(values, meter.left) : 1);
    if (matches) spend(meter, matchCost(values, compiles));
    const result = handle(...parts);
    spend(meter, resultSize(result) + laterCharge(result));
    return result;
  };
}

const patternFunctions = new Set(["matches", "find", "findAll"].map(resolveName));
const compiledInstructionsPerUnit = 5;

/**
 * A match looks at every character with every instruction of the pattern. A pattern that is computed is perhaps a new
 * one in every round and must be paid for itself: 110 characters can compile to 10,000 instructions, which takes 5 ms.
 */
function matchCost(values: unknown, compiles: boolean): number {
  const [text, pattern]: readonly unknown[] = Array.isArray(values) ? values : [];
  if (typeof text !== "string" || typeof pattern !== "string") return 0;
  const compiled = compileRe2(pattern);
  if (!compiled.ok) return 0;
  const { size } = compiled.value;
  return (size * text.length) / matchStepsPerUnit + (compiles ? size / compiledInstructionsPerUnit : 0);
}

/** The pattern is the first argument behind the text, which is the receiver or the argument before. */
function hasConstantPattern(call: ASTNode): boolean {
  if (call.op === "rcall") return call.args[2][0]?.op === "value";
  return call.op === "call" && call.args[1][1]?.op === "value";
}

const costOfError = 50;

/** Macros such as `all` and `map` become a loop; its step is what runs once per element. */
function meterComprehension(loop: InnerNode, nodes: number, meter: Meter): void {
  if (loop.op !== "comprehension") return;
  const step = stepOf(loop.args);
  if (step === undefined) throw brokenLibrary("step in a comprehension");
  const { evaluate } = step.meta;
  step.setMeta("evaluate", (evaluator, node, context) => {
    spend(meter, 1 + nodes);
    try {
      return evaluate(evaluator, node, context);
    } catch (error) {
      // `all` and `exists` keep errors back and go on; making one takes about as long as evaluating fifty nodes.
      meter.left -= costOfError;
      throw error;
    }
  });
  // Errors inside `all` and `exists` are kept back while the loop goes on: without this check an inner loop would run
  // to its end once per element of the outer one although nothing is left.
  const loopEvaluate = loop.meta.evaluate;
  loop.setMeta("evaluate", (evaluator, node, context) => {
    spend(meter, 1);
    return loopEvaluate(evaluator, node, context);
  });
}

/** The node that a loop evaluates once per element; its name inside the library's loop is `step`. */
function stepOf(args: unknown): InnerNode | undefined {
  if (typeof args !== "object" || args === null || !("step" in args)) return undefined;
  return args.step as InnerNode;
}

function meterOperator(node: InnerNode, op: string, meter: Meter): void {
  const { handle } = node;
  if (handle === undefined) throw brokenLibrary(`handler of the operator ${op}`);
  node.handle = (left, right, ...rest) => {
    spend(meter, operandCost(op, left, right, meter.left));
    const result = handle(left, right, ...rest);
    if (op === "+") spend(meter, resultSize(result));
    return result;
  };
}

/** What an operator reads. `+` reads nothing that its result does not show, and pays for the result. */
function operandCost(op: string, left: unknown, right: unknown, limit: number): number {
  if (op === "+") return 0;
  if (op !== "in") {
    // A comparison reads at most the smaller side.
    const size = sizeOf(left, limit);
    return Math.min(size, sizeOf(right, size));
  }
  return Array.isArray(right) ? sizeOf(right, limit) : 1;
}

const charactersPerUnit = 10;

/** What making a value cost: its own length, not that of its parts, which existed before. */
function resultSize(value: unknown): number {
  if (typeof value === "string") return value.length / charactersPerUnit;
  return Array.isArray(value) ? value.length : 0;
}

/** Nodes and characters in a value; stops counting soon after the limit. */
function sizeOf(value: unknown, limit: number): number {
  if (typeof value === "string") return 1 + value.length / charactersPerUnit;
  if (typeof value !== "object" || value === null) return 1;
  let size = 1;
  const children = value instanceof Map ? value.values() : Object.values(value);
  for (const child of children) {
    if (size > limit) break;
    size += sizeOf(child, limit - size);
  }
  return size;
}

/**
 * The library drops the keys `__proto__`, `constructor` and `prototype` of map literals and turns other keys into
 * texts. Evaluates map literals so that nothing is lost: as an object, or as a Map when a key is no text.
 */
function keepAllKeys(node: InnerNode): void {
  const entries = node.args as readonly (readonly [unknown, unknown])[];
  if (entries.length === 0) return;
  node.setMeta("evaluate", (evaluator, _node, context) => {
    const pairs = entries.map(([key, value]) => [evaluator.run(key, context), evaluator.run(value, context)] as const);
    const keys = new Set(pairs.map(([key]) => comparableKey(key)));
    if (keys.size < pairs.length) throw new Error("a map literal repeats a key");
    return pairs.every(isTextKeyed) ? mapOf(pairs) : new Map(pairs);
  });
}

/** What tells keys apart; 1 and 1u are the same. CEL has no other keys than these. */
function comparableKey(key: unknown): unknown {
  const number = asInteger(key);
  if (number === undefined && typeof key !== "string" && typeof key !== "boolean") {
    throw new Error("a key of a map must be a string, an int, a uint or a bool");
  }
  return number ?? key;
}

const isTextKeyed = (pair: readonly [unknown, unknown]): pair is readonly [string, unknown] =>
  typeof pair[0] === "string";
