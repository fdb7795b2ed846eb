import { formatProblem, type Problem } from "#lib/base/index.ts";
import { mostProblems } from "#kernel/dialect/index.ts";
import type { Place, Related } from "./node.ts";

/** A problem of a definition. `path` is its scope, as in `build/web/docker/cmds[2]`. */
export interface Diagnostic extends Problem {
  readonly related: readonly Related[];
}

export interface Spot {
  readonly scope: string;
  readonly at?: Place;
  readonly madeOf?: readonly Related[];
}

/** Reports a problem. Codes are listed in docs/reference/problems.md. */
export type Report = (spot: Spot, code: string, message: string, more?: More) => void;

interface More {
  readonly hint?: string | undefined;
  readonly related?: readonly Related[];
}

export interface Reporter {
  readonly error: Report;
  readonly warn: Report;
  /** All problems in order; those beyond the thousandth are only counted. */
  readonly diagnostics: () => readonly Diagnostic[];
}

export function createReporter(file: string): Reporter {
  const found: Diagnostic[] = [];
  const left = { error: 0, warning: 0 };
  const reporter =
    (severity: Problem["severity"]): Report =>
    ({ scope, at, madeOf = [] }, code, message, { hint, related = [] } = {}) => {
      if (found.length >= mostProblems) {
        left[severity] += 1;
        return;
      }
      const position = at === undefined ? {} : { position: { file, line: at.line, column: at.column } };
      const advice = hint === undefined ? {} : { hint };
      found.push({ severity, code, message, path: scope, ...position, ...advice, related: [...related, ...madeOf] });
    };
  return { error: reporter("error"), warn: reporter("warning"), diagnostics: () => inOrder(found, left) };
}

function inOrder(found: readonly Diagnostic[], left: { readonly error: number; readonly warning: number }) {
  const sorted = found.toSorted((a, b) => lineOf(a) - lineOf(b) || columnOf(a) - columnOf(b));
  const count = left.error + left.warning;
  if (count === 0) return sorted;
  const severity = left.error > 0 ? "error" : "warning";
  const message = `${count} more problem${count === 1 ? " is" : "s are"} not shown`;
  return [...sorted, { severity, code: "more-problems", message, path: "", related: [] } as const];
}

const lineOf = ({ position }: Diagnostic): number => position?.line ?? 0;
const columnOf = ({ position }: Diagnostic): number => position?.column ?? 0;

/** A key may be as long as the file. */
const longestName = 60;

export const below = (scope: string, name: string): string => {
  const shown = name.length > longestName ? `${name.slice(0, longestName)}…` : name;
  return scope === "" ? shown : `${scope}/${shown}`;
};

export function formatDiagnostic(diagnostic: Diagnostic, file: string): string {
  const { position, related } = diagnostic;
  const own = formatProblem(position === undefined ? diagnostic : { ...diagnostic, position: { file, ...position } });
  const places = related.map(
    ({ file: other = file, place, message }) => `  ${other}:${place.line}:${place.column}: ${message}`,
  );
  return [position === undefined ? `${file}: ${own}` : own, ...places].join("\n");
}

export function excerptOf({ position }: Diagnostic, text: string): string | undefined {
  if (position === undefined) return undefined;
  const line = text.split("\n", position.line)[position.line - 1]?.replace(/\r$/, "");
  if (line === undefined || line.length > longestLine) return undefined;
  const number = `${position.line}`;
  const gap = line.slice(0, position.column - 1).replaceAll(/[^\t]/g, " ");
  return `  ${number} | ${line}\n  ${" ".repeat(number.length)} | ${gap}^`;
}

const longestLine = 400;
