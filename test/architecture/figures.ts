import { parseSync, Visitor, type VisitorObject } from "oxc-parser";

/** What is counted in one source. Lines are those of the file, blank ones included. */
export interface FileFigures {
  readonly path: string;
  readonly lines: number;
  /** Lines that hold nothing but a comment, or a part of one. */
  readonly commentLines: number;
  /** Every function that has a body in braces; one that is an expression is a part of the line it stands in. */
  readonly functions: readonly FunctionFigures[];
  /** `any` as a type. */
  readonly anys: number;
  /** `x as T` and `<T>x`, without `as const`, which asserts nothing. */
  readonly casts: number;
}

export interface FunctionFigures {
  /** Where it begins, from 1. */
  readonly line: number;
  /** From its first to its last line. */
  readonly lines: number;
}

/** Parses one source and counts. Fails for a source that does not parse, so that nothing is counted as empty. */
export function measure(path: string, text: string): FileFigures {
  const { program, comments, errors } = parseSync(path, text, { sourceType: "module" });
  const [fatal] = errors;
  if (fatal !== undefined) throw new Error(`${path}: ${fatal.message}`);
  const lineOf = lineFinder(text);
  const functions: FunctionFigures[] = [];
  let [anys, casts] = [0, 0];
  const note = ({
    body,
    start,
    end,
  }: {
    readonly body: object | null;
    readonly start: number;
    readonly end: number;
  }) => {
    if (body === null || !("type" in body) || !isBraced(body.type)) return;
    functions.push({ line: lineOf(start), lines: lineOf(end - 1) - lineOf(start) + 1 });
  };
  const visitor: VisitorObject = {
    FunctionDeclaration: note,
    FunctionExpression: note,
    ArrowFunctionExpression: note,
    TSAnyKeyword: () => {
      anys += 1;
    },
    TSTypeAssertion: () => {
      casts += 1;
    },
    TSAsExpression: ({ typeAnnotation }) => {
      const isConst = text.slice(typeAnnotation.start, typeAnnotation.end) === "const";
      casts += isConst ? 0 : 1;
    },
  };
  new Visitor(visitor).visit(program);
  return {
    path,
    lines: lineOf(text.trimEnd().length),
    commentLines: countOwn(text, comments, lineOf),
    functions,
    anys,
    casts,
  };
}

const isBraced = (type: unknown): boolean => type === "BlockStatement" || type === "FunctionBody";

/** The line of an offset, from 1, found by halving. */
function lineFinder(text: string): (offset: number) => number {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/** Lines that belong to comments; a comment behind code has none of its own. */
function countOwn(
  text: string,
  comments: readonly { readonly start: number; readonly end: number }[],
  lineOf: (offset: number) => number,
): number {
  const own = new Set<number>();
  for (const { start, end } of comments) {
    const before = text.slice(text.lastIndexOf("\n", start - 1) + 1, start);
    if (before.trim() !== "") continue;
    for (let line = lineOf(start); line <= lineOf(end - 1); line += 1) own.add(line);
  }
  return own.size;
}

/** The value that the given part of the values does not exceed: `quantile(values, 0.5)` is the median. 0 of none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

export const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
