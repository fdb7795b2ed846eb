import { err, jsonEquals, type JsonValue, ok, type Result } from "#lib/base/index.ts";

// Kubernetes' JSONPath, which is older than RFC 9535 and differs from it:
//
//   path    = ["$" | "@"] step*
//   step    = "." name | ".*" | ".." name | "..*" | "[" selector ("," selector)* "]"
//   select  = index | [start] ":" [end] [":" step] | "*" | quoted | "?(" operand [operator operand] ")"
//   operand = path | quoted | number | true | false | null
//
// There is no "&&" or "||". A parser by recursion: filters hold paths that hold filters, bounded by the length of the
// source.

/** One step from the selected values to the next ones. */
export type PathStep =
  /** `.name`; with a backslash in front of a dot that belongs to the name: `.app\\.kubernetes\\.io/name`. */
  | { readonly kind: "member"; readonly name: string }
  /** `['a.b']`: the member of that name if there is one, else the path `a`, `b`, which is what Kubernetes reads. */
  | { readonly kind: "quoted"; readonly name: string; readonly parts: readonly string[] }
  /** Negative counts from the end: `[-1]` is the last item. */
  | { readonly kind: "index"; readonly index: number }
  /** `[start:end:stride]`, end excluded; negative ends count from the end. The stride is at least 1. */
  | { readonly kind: "slice"; readonly start?: number; readonly end?: number; readonly stride: number }
  /** All members of an object or items of a list; the names are lost. */
  | { readonly kind: "wildcard" }
  /** All values below, and the value itself, parents first: what `..` puts in front of the step behind it. */
  | { readonly kind: "descend" }
  /** `[0,2]` or `['a','b']`: what each choice selects, in the order of the choices. */
  | { readonly kind: "union"; readonly choices: readonly PathStep[] }
  | { readonly kind: "filter"; readonly filter: PathFilter };

/** A path as data. No steps: the current value itself. */
export interface ParsedPath {
  /** True for `$…`: starts at the document, not at the current value. */
  readonly fromRoot: boolean;
  readonly steps: readonly PathStep[];
}

type FilterOperator = "==" | "!=" | "<" | "<=" | ">" | ">=";
/** Of a path the first value counts; a path that selects nothing makes every comparison false. */
type FilterOperand =
  | { readonly kind: "path"; readonly path: ParsedPath }
  | { readonly kind: "literal"; readonly value: string | number | boolean | null };

/** `@.a`: exists; otherwise a comparison. */
type PathFilter =
  | { readonly kind: "exists"; readonly path: ParsedPath }
  | {
      readonly kind: "compare";
      readonly left: FilterOperand;
      readonly operator: FilterOperator;
      readonly right: FilterOperand;
    };

/** A place in the source; functions advance it past what they read. */
export interface Cursor {
  readonly source: string;
  at: number;
}

type Parsed<T> = Result<T, JsonPathError>;

const failAt = (cursor: Cursor, message: string): Result<never, JsonPathError> =>
  err({ message, column: cursor.at + 1 });

/** The error that something else stands at the cursor. Columns count UTF-16 code units from 1. */
export function unexpected(cursor: Cursor, what: string): Result<never, JsonPathError> {
  const char = cursor.source[cursor.at];
  return failAt(cursor, `expected ${what}, found ${char === undefined ? "the end" : JSON.stringify(char)}`);
}

/**
 * Reads a path up to the first character that cannot belong to it, and leaves the cursor there: whether that character
 * may follow is for the caller to say. `.a.b[0].c` becomes member a, member b, index 0, member c.
 */
export function parsePath(cursor: Cursor): Parsed<ParsedPath> {
  const first = cursor.source[cursor.at];
  const fromRoot = first === "$";
  if (fromRoot || first === "@") cursor.at += 1;
  const steps: PathStep[] = [];
  for (let char = cursor.source[cursor.at]; char === "." || char === "["; char = cursor.source[cursor.at]) {
    const read = char === "[" ? parseBracket(cursor) : parseDot(cursor);
    if (!read.ok) return read;
    steps.push(...read.value);
  }
  return ok({ fromRoot, steps });
}

/** What follows a dot: one step, two for `..name`, none for a dot that stands alone. */
function parseDot(cursor: Cursor): Parsed<readonly PathStep[]> {
  cursor.at += 1;
  const descends = cursor.source[cursor.at] === ".";
  if (descends) cursor.at += 1;
  const before: readonly PathStep[] = descends ? [{ kind: "descend" }] : [];
  const char = cursor.source[cursor.at];
  if (char === "*") {
    cursor.at += 1;
    return ok([...before, { kind: "wildcard" }]);
  }
  // A lone "." is the current value, and ".[0]" is "[0]".
  if (char === "[" || (!descends && (char === undefined || !isNamePart(char)))) return ok(before);
  const name = parseName(cursor);
  return name.ok ? ok([...before, { kind: "member", name: name.value }]) : name;
}

// Everything but the characters that mean something in a path, so that labels such as `k8s-app` and `x/y` need no
// quotes.
const isNamePart = (char: string): boolean => !" \t\n\r.[](){}'\"@$?*,:=<>!|&+".includes(char);

/** A member name; a backslash makes the next character part of it. */
function parseName(cursor: Cursor): Parsed<string> {
  let name = "";
  for (;;) {
    const char = cursor.source[cursor.at];
    if (char === "\\" && cursor.at + 1 < cursor.source.length) {
      name += cursor.source[cursor.at + 1];
      cursor.at += 2;
    } else if (char !== undefined && char !== "\\" && isNamePart(char)) {
      name += char;
      cursor.at += 1;
    } else {
      return name === "" ? unexpected(cursor, "a member name") : ok(name);
    }
  }
}

/** `[…]` with one selector or several; several become a union. */
function parseBracket(cursor: Cursor): Parsed<readonly PathStep[]> {
  cursor.at += 1;
  skipBlanks(cursor);
  const steps: PathStep[] = [];
  for (;;) {
    const step = parseSelector(cursor);
    if (!step.ok) return step;
    steps.push(step.value);
    skipBlanks(cursor);
    const char = cursor.source[cursor.at];
    if (char !== "," && char !== "]") return unexpected(cursor, `"," or "]"`);
    cursor.at += 1;
    if (char === "]") break;
    skipBlanks(cursor);
  }
  const [only] = steps;
  return ok([steps.length === 1 && only !== undefined ? only : { kind: "union", choices: steps }]);
}

/** One choice between the brackets, told by its first character. */
function parseSelector(cursor: Cursor): Parsed<PathStep> {
  const char = cursor.source[cursor.at];
  if (char === "?") return parseFilter(cursor);
  if (char === "'" || char === '"') return parseQuotedMember(cursor);
  if (char === "*") {
    cursor.at += 1;
    return ok({ kind: "wildcard" });
  }
  return parseIndex(cursor);
}

/** `['a.b']` is ambiguous: Kubernetes walks a, b, but keys with dots are common. See `PathStep`. */
function parseQuotedMember(cursor: Cursor): Parsed<PathStep> {
  const name = parseQuoted(cursor);
  if (!name.ok) return name;
  // A backslash in front of a dot keeps the dot, both here and in the split below.
  const parts = name.value.split(/(?<!\\)\./).map((part) => part.replaceAll("\\.", "."));
  return ok({ kind: "quoted", name: name.value.replaceAll("\\.", "."), parts });
}

// Nine digits are more items than any list has, and far from where numbers lose digits.
const slice = /(-?\d{1,9})?(?:(:)(-?\d{1,9})?(?::(\d{1,9})?)?)?/y;

function parseIndex(cursor: Cursor): Parsed<PathStep> {
  slice.lastIndex = cursor.at;
  const [all = "", start, colon, end, stride] = slice.exec(cursor.source) ?? [];
  if (all === "") return unexpected(cursor, "an index, a quoted name, * or ?(…)");
  if (stride !== undefined && Number(stride) === 0) return failAt(cursor, "the step of a slice must be positive");
  cursor.at += all.length;
  if (colon === undefined) return ok({ kind: "index", index: Number(start) });
  return ok({
    kind: "slice",
    stride: Number(stride ?? 1),
    ...(start === undefined ? {} : { start: Number(start) }),
    ...(end === undefined ? {} : { end: Number(end) }),
  });
}

/** `?(…)` behind its opening bracket: an operand alone asks whether a path selects anything. */
function parseFilter(cursor: Cursor): Parsed<PathStep> {
  cursor.at += 1;
  if (cursor.source[cursor.at] !== "(") return unexpected(cursor, `"(" behind "?"`);
  cursor.at += 1;
  const left = parseOperand(cursor);
  if (!left.ok) return left;
  const operator = /==|!=|<=|>=|<|>/y;
  operator.lastIndex = cursor.at;
  const found = operator.exec(cursor.source)?.[0];
  if (found === undefined) {
    if (left.value.kind !== "path") return unexpected(cursor, "a comparison");
    return closeFilter(cursor, { kind: "exists", path: left.value.path });
  }
  cursor.at += found.length;
  const right = parseOperand(cursor);
  if (!right.ok) return right;
  return closeFilter(cursor, {
    kind: "compare",
    left: left.value,
    operator: asOperator(found),
    right: right.value,
  });
}

const operators: readonly FilterOperator[] = ["==", "!=", "<", "<=", ">", ">="];
const asOperator = (text: string): FilterOperator => operators.find((operator) => operator === text) ?? "==";

function closeFilter(cursor: Cursor, filter: PathFilter): Parsed<PathStep> {
  if (cursor.source[cursor.at] !== ")") return unexpected(cursor, `a comparison or ")"`);
  cursor.at += 1;
  return ok({ kind: "filter", filter });
}

function parseOperand(cursor: Cursor): Parsed<FilterOperand> {
  skipBlanks(cursor);
  const operand = parseBareOperand(cursor);
  skipBlanks(cursor);
  return operand;
}

function parseBareOperand(cursor: Cursor): Parsed<FilterOperand> {
  const char = cursor.source[cursor.at];
  if (char === "@" || char === "$" || char === ".") {
    const path = parsePath(cursor);
    return path.ok ? ok({ kind: "path", path: path.value }) : path;
  }
  if (char === "'" || char === '"') {
    const text = parseQuoted(cursor);
    return text.ok ? ok({ kind: "literal", value: text.value }) : text;
  }
  const word = /true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  word.lastIndex = cursor.at;
  const found = word.exec(cursor.source)?.[0];
  if (found === undefined) return unexpected(cursor, "a path, a quoted text, a number, true, false or null");
  cursor.at += found.length;
  return ok({ kind: "literal", value: literals.has(found) ? (literals.get(found) ?? null) : Number(found) });
}

// Unquoted words that are values; every other word is an error, because a forgotten quote would never match.
const literals: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "\\": "\\", "'": "'", '"': '"' };

/** A quoted text with `\n`, `\t`, `\r`, `\\` and quotes escaped; other backslashes stay. */
export function parseQuoted(cursor: Cursor): Parsed<string> {
  const start = cursor.at;
  const quote = cursor.source[start];
  let text = "";
  for (let at = start + 1; at < cursor.source.length; at += 1) {
    const char = cursor.source[at] ?? "";
    if (char === quote) {
      cursor.at = at + 1;
      return ok(text);
    }
    const escaped = char === "\\" ? escapes[cursor.source[at + 1] ?? ""] : undefined;
    if (escaped !== undefined) at += 1;
    text += escaped ?? char;
  }
  return failAt(cursor, `the quote ${quote ?? ""} is not closed`);
}

/** Moves the cursor behind white space. */
export function skipBlanks(cursor: Cursor): void {
  while (/\s/.test(cursor.source[cursor.at] ?? "")) cursor.at += 1;
}

/** Why a path does not compile. `column` counts from 1. */
export interface JsonPathError {
  readonly message: string;
  readonly column: number;
}

// Evaluation is breadth first: every step maps the list of selected values to the next list. Nothing is copied, so that
// what is selected shares the document.

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
 * Compiles Kubernetes' simple JSONPath: `.a.b[0].c`, `[*]`, `..name`, `['a.b']`, `.a\.b`, slices, unions and filters
 * such as `[?(@.type=="Ready")].status`. A leading `$` and surrounding braces are optional.
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

/** Ends an evaluation from any depth; never leaves this folder. A flag would be tested at every step. */
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
