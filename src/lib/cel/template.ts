import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { compileSource, placeAt } from "./compile.ts";
import { parseTemplate } from "./template-parser.ts";
import type {
  CelBindings,
  CelEnvironment,
  CelEvaluateOptions,
  CelProblem,
  CelProgram,
  CelReferences,
} from "./types.ts";

/** Where in a document something is. */
export type TemplatePath = readonly (string | number)[];

/** A wrong `${{ }}`; line and column are those within the string. */
export interface TemplateProblem extends CelProblem {
  readonly path: TemplatePath;
}

/** An expression that failed during evaluation. */
export interface TemplateFailure {
  readonly path: TemplatePath;
  readonly message: string;
}

/** One `${{ }}` of a document. */
export interface TemplateExpression {
  readonly path: TemplatePath;
  /** What stands between the braces, blanks included. */
  readonly source: string;
  /** Places are within the expression. */
  readonly references: CelReferences;
}

/** A document whose strings may hold `${{ expression }}`. */
export interface CelTemplate {
  /** In document order, each with its place, for checks of what a document refers to. */
  readonly expressions: readonly TemplateExpression[];
  /**
   * The document with every expression replaced by its value, all failures at once. Results are not scanned again. A
   * string that is one expression and nothing else becomes the value itself; within other text null is empty, and
   * objects and lists are their canonical JSON. Branches without expressions are shared. The cost limit holds for each
   * expression.
   */
  evaluate(bindings: CelBindings, options?: CelEvaluateOptions): Result<JsonValue, readonly TemplateFailure[]>;
}

/**
 * Compiles every `${{ }}` in every string value of a document (not in keys); all problems at once. `$${{` is a literal
 * `${{`. A document that was read within its depth limit does not overflow the call stack.
 */
export function compileTemplate(
  document: JsonValue,
  environment: CelEnvironment,
): Result<CelTemplate, readonly TemplateProblem[]> {
  const compiling: Compiling = { environment, expressions: [], problems: [] };
  const render = compileValue(compiling, document, []);
  if (compiling.problems.length > 0) return err(compiling.problems);
  return ok({
    expressions: compiling.expressions,
    evaluate: (bindings, options = {}) => {
      const evaluation: Evaluation = { bindings, options, failures: [] };
      const value = render === undefined ? document : render(evaluation);
      return evaluation.failures.length > 0 ? err(evaluation.failures) : ok(value);
    },
  });
}

interface Compiling {
  readonly environment: CelEnvironment;
  readonly expressions: TemplateExpression[];
  readonly problems: TemplateProblem[];
}

/** One evaluation: failures are collected, so that all of them are told at once. */
interface Evaluation {
  readonly bindings: CelBindings;
  readonly options: CelEvaluateOptions;
  readonly failures: TemplateFailure[];
}

/** Makes the value of one node; undefined instead of a function for a node that is the same every time. */
type Render = ((evaluation: Evaluation) => JsonValue) | undefined;

function compileValue(compiling: Compiling, value: JsonValue, path: TemplatePath): Render {
  if (typeof value === "string") return compileText(compiling, value, path);
  if (isArray(value)) {
    const items = value.map((item, index) => ({ item, render: compileValue(compiling, item, [...path, index]) }));
    if (items.every(({ render }) => render === undefined)) return undefined;
    return (evaluation) => items.map(({ item, render }) => (render === undefined ? item : render(evaluation)));
  }
  if (!isJsonObject(value)) return undefined;
  const members = Object.entries(value).map(([key, member]) => {
    const render = member === undefined ? undefined : compileValue(compiling, member, [...path, key]);
    return { key, member, render };
  });
  if (members.every(({ render }) => render === undefined)) return undefined;
  // fromEntries defines own members, so that "__proto__" is an ordinary key.
  return (evaluation) =>
    Object.fromEntries(
      members.map(({ key, member, render }) => [key, render === undefined ? member : render(evaluation)]),
    );
}

/** A string: `undefined` for one without expressions, the expression's own value for one that is nothing else. */
function compileText(compiling: Compiling, text: string, path: TemplatePath): Render {
  if (!text.includes("${{")) return undefined;
  const parsed = parseTemplate(text);
  if (!parsed.ok) {
    const { message, offset } = parsed.error;
    compiling.problems.push({ path, kind: "syntax", message, ...placeAt(text, offset) });
    return undefined;
  }
  const parts = parsed.value.map((part) => {
    if (part.kind === "text") return part.text;
    return compilePart(compiling, text, part.source, part.offset, path);
  });
  const [only] = parts;
  if (parts.length === 1 && typeof only === "function") return only;
  return (evaluation) => parts.map((part) => (typeof part === "string" ? part : asText(part(evaluation)))).join("");
}

function compilePart(
  compiling: Compiling,
  text: string,
  source: string,
  offset: number,
  path: TemplatePath,
): (evaluation: Evaluation) => JsonValue {
  const program = compileSource(source, compiling.environment);
  if (!program.ok) {
    const { kind, message } = program.error;
    compiling.problems.push({ path, kind, message, ...placeAt(text, offset + program.error.offset) });
    return () => null;
  }
  compiling.expressions.push({ path, source, references: program.value.references });
  return (evaluation) => evaluatePart(program.value, path, evaluation);
}

/** A failed expression is null from here on: the document is thrown away, but the rest of it is still looked at. */
function evaluatePart(program: CelProgram, path: TemplatePath, evaluation: Evaluation): JsonValue {
  const value = program.evaluate(evaluation.bindings, evaluation.options);
  if (value.ok) return value.value;
  evaluation.failures.push({ path, message: `${program.source.trim()}: ${value.error}` });
  return null;
}

/** A value inside of other text: null is empty, numbers and booleans are their JSON. */
function asText(value: JsonValue): string {
  if (typeof value === "string") return value;
  return value === null ? "" : canonicalJson(value);
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
