import { err, ok, type Result } from "#lib/base/index.ts";

/** One condition on a field: `path` is a label such as `metadata.name` or `status.phase`. */
export interface FieldRequirement {
  readonly path: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** All requirements must hold. */
export type FieldSelector = readonly FieldRequirement[];

/** Reads `metadata.name=a,status.phase!=Failed`; a backslash keeps `,`, `=` and itself from having a meaning. */
export function parseFieldSelector(text: string): Result<FieldSelector, string> {
  if (text.trim() === "") return ok([]);
  const requirements: FieldRequirement[] = [];
  for (const term of splitUnescaped(text)) {
    const requirement = readTerm(term);
    if (!requirement.ok) return requirement;
    requirements.push(requirement.value);
  }
  return ok(requirements);
}

/** `valueOf` gives the text of a field label; undefined counts as the empty text. */
export const matchesFields = (selector: FieldSelector, valueOf: (path: string) => string | undefined): boolean =>
  selector.every(({ path, operator, value }) => ((valueOf(path) ?? "") === value) === (operator === "="));

/** A text made safe for use as a value in a field selector. */
export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, (symbol) => `\\${symbol}`);

function readTerm(term: string): Result<FieldRequirement, string> {
  const match = /^\s*([^=!\\]+?)\s*(==|!=|=)(.*)$/s.exec(term);
  if (match === null) return err(`expected field=value or field!=value, found ${JSON.stringify(term)}`);
  const [, path = "", operator, raw = ""] = match;
  const value = unescapeValue(raw);
  if (value === undefined) return err(`only \\\\, \\, and \\= may follow a backslash in ${JSON.stringify(term)}`);
  return ok({ path, operator: operator === "!=" ? "!=" : "=", value });
}

const unescapeValue = (raw: string): string | undefined =>
  /^(?:[^\\]|\\[\\,=])*$/s.test(raw) ? raw.replace(/\\([\\,=])/g, "$1") : undefined;

const splitUnescaped = (text: string): readonly string[] => text.match(/(?:[^\\,]|\\.)+/gs) ?? [];
