import { err, type JsonValue, jsonEquals, ok, type Result } from "#lib/base/index.ts";
import {
  type Cursor,
  type FilterOperand,
  type FilterOperator,
  type ParsedPath,
  type PathFilter,
  type PathStep,
  parsePath,
  skipBlanks,
  unexpected,
} from "./json-path-parser.ts";

/** Why a path does not compile. `column` counts from 1. */
export interface JsonPathError {
  readonly message: string;
  readonly column: number;
}

// Evaluation is breadth first: every step maps the list of selected values to the next list. Nothing is copied, so that what
// is selected shares the document.

/** A compiled path: one step-limited function from a value to everything the path selects, in document order. */
export interface JsonPath {
  readonly source: string;
  /** A missing member selects nothing. The error names the step limit, the only way to fail. */
  find(root: JsonValue): Result<readonly JsonValue[], string>;
}

/** Most values one evaluation looks at. */
const maxPathSteps = 1_000_000;
/** In UTF-16 code units. */
const longestPath = 4_096;

/**
 * Compiles Kubernetes' simple JSONPath: `.a.b[0].c`, `[*]`, `..name`, `['a.b']`, `.a\.b`, slices, unions and filters such
 * as `[?(@.type=="Ready")].status`. A leading `$` and surrounding braces are optional.
 */
export function compileJsonPath(source: string): Result<JsonPath, JsonPathError> {
  // Filters nest; a bounded source also bounds the recursion of the parser.
  if (source.length > longestPath)
    return err({ message: `longer than ${longestPath} characters`, column: longestPath });
  const cursor: Cursor = { source, at: 0 };
  skipBlanks(cursor);
  const braced = source[cursor.at] === "{";
  if (braced) cursor.at += 1;
  const path = parsePath(cursor);
  if (!path.ok) return path;
  if (braced && source[cursor.at] === "}") cursor.at += 1;
  else if (braced) return unexpected(cursor, `"." or "[" or "}"`);
  skipBlanks(cursor);
  if (cursor.at < source.length) return unexpected(cursor, `"." or "[" or the end`);
  return ok({ source, find: (root) => withinBudget((budget) => selectPath(path.value, root, root, budget)) });
}

/** Steps left to one evaluation; the functions below throw `StepLimit` when it is spent. */
export interface StepBudget {
  /** Below zero the evaluation is over. Fractions may be spent. */
  left: number;
}

/** Ends an evaluation from any depth; never leaves this folder. Thrown, because a flag would be asked for at every step. */
class StepLimit extends Error {}

/** Runs an evaluation and turns its running out of steps into a value. */
export function withinBudget<T>(evaluate: (budget: StepBudget) => T): Result<T, string> {
  try {
    return ok(evaluate({ left: maxPathSteps }));
  } catch (thrown) {
    if (thrown instanceof StepLimit) return err(`the path looks at more than ${maxPathSteps} values`);
    throw thrown;
  }
}

/** Everything a path selects from the current value, in document order; duplicates stay. `root` is what `$` means. */
export function selectPath(
  path: ParsedPath,
  root: JsonValue,
  current: JsonValue,
  budget: StepBudget,
): readonly JsonValue[] {
  let selected: readonly JsonValue[] = [path.fromRoot ? root : current];
  for (const step of path.steps) {
    const next: JsonValue[] = [];
    for (const value of selected) for (const found of takeStep(step, root, value, budget)) next.push(found);
    selected = next;
  }
  return selected;
}

/** Takes steps from the budget, or ends the evaluation. */
export function spend(budget: StepBudget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw new StepLimit();
}

/** What one step selects from one value. A step that does not fit the value's type selects nothing. */
function takeStep(step: PathStep, root: JsonValue, value: JsonValue, budget: StepBudget): readonly JsonValue[] {
  spend(budget, 1);
  switch (step.kind) {
    case "member":
      return present(memberOf(value, step.name));
    case "quoted":
      return present(memberOf(value, step.name) ?? descendTo(value, step.parts));
    case "index":
      return isArray(value) ? present(value.at(step.index)) : [];
    case "slice":
      return isArray(value) ? sliceOf(value, step, budget) : [];
    case "wildcard":
      return childrenOf(value, budget);
    case "descend":
      return withDescendants(value, budget);
    case "union":
      return step.choices.flatMap((choice) => takeStep(choice, root, value, budget));
    case "filter":
      return childrenOf(value, budget).filter((item) => passes(step.filter, root, item, budget));
  }
}

const present = (value: JsonValue | undefined): readonly JsonValue[] => (value === undefined ? [] : [value]);

/** An own member: `.toString` and `.length` select nothing unless the document has them. */
function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== "object" || value === null || isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The second reading of `['a.b']`. */
function descendTo(value: JsonValue, names: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const name of names) found = memberOf(found, name);
  return found;
}

/** As in Python and Go's slices: bounds beyond the list are cut, a start behind the end selects nothing. */
function sliceOf(
  items: readonly JsonValue[],
  step: Extract<PathStep, { kind: "slice" }>,
  budget: StepBudget,
): readonly JsonValue[] {
  const part = items.slice(step.start ?? 0, step.end ?? items.length);
  spend(budget, part.length);
  return part.filter((_, index) => index % step.stride === 0);
}

/** Members or items, in document order; integer-like keys of objects come first, as everywhere in JavaScript. */
function childrenOf(value: JsonValue, budget: StepBudget): readonly JsonValue[] {
  if (typeof value !== "object" || value === null) return [];
  const children = isArray(value) ? value : Object.values(value).filter((child) => child !== undefined);
  spend(budget, children.length);
  return children;
}

/** The value and everything below it, parents first. */
function withDescendants(value: JsonValue, budget: StepBudget): readonly JsonValue[] {
  const found: JsonValue[] = [];
  const visit = (node: JsonValue): void => {
    found.push(node);
    for (const child of childrenOf(node, budget)) visit(child);
  };
  visit(value);
  return found;
}

/** Whether an item stays. Inside the filter `@` is the item. */
function passes(filter: PathFilter, root: JsonValue, item: JsonValue, budget: StepBudget): boolean {
  if (filter.kind === "exists") return selectPath(filter.path, root, item, budget).length > 0;
  const left = operandValue(filter.left, root, item, budget);
  const right = operandValue(filter.right, root, item, budget);
  return left !== undefined && right !== undefined && compare(left, filter.operator, right);
}

/** A literal, or the first value that a path selects from the item; undefined when it selects nothing. */
function operandValue(
  operand: FilterOperand,
  root: JsonValue,
  item: JsonValue,
  budget: StepBudget,
): JsonValue | undefined {
  return operand.kind === "literal" ? operand.value : selectPath(operand.path, root, item, budget)[0];
}

/** Values of different types are unequal and have no order. */
function compare(left: JsonValue, operator: FilterOperator, right: JsonValue): boolean {
  if (operator === "==") return jsonEquals(left, right);
  if (operator === "!=") return !jsonEquals(left, right);
  const comparable =
    (typeof left === "number" && typeof right === "number") || (typeof left === "string" && typeof right === "string");
  if (!comparable) return false;
  switch (operator) {
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    case ">=":
      return left >= right;
  }
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
