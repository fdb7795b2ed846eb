import type { Diagnostic } from "../definition/diagnostics.ts";
import { asText } from "../definition/scalar.ts";
import { prepare, type PrepareRequest } from "../prepare.ts";
import type { Variable } from "../variables/variable.ts";

export const prepared = (text: string, more: Partial<PrepareRequest> = {}) =>
  prepare({ bytes: new TextEncoder().encode(text), file: ".wharf-ci.yml", ...more });

/** `3:5 error[type] build/web: …` */
export const told = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  diagnostics.map(({ severity, code, path, position, message }) => {
    const place = position === undefined ? "-" : `${position.line}:${position.column}`;
    return `${place} ${severity}[${code}] ${path}: ${message}`;
  });

export const codesOf = (text: string, more: Partial<PrepareRequest> = {}): readonly string[] =>
  prepared(text, more).diagnostics.map(({ severity, code, position }) => {
    const place = position === undefined ? "-" : `${position.line}:${position.column}`;
    return severity === "error" ? `${place} ${code}` : `${place} ${code} (warning)`;
  });

export const fileVariables = (texts: Readonly<Record<string, string>>): readonly Variable[] =>
  Object.entries(texts).map(([name, text]) => ({ name, ...asText(text), source: "variable files" }));
