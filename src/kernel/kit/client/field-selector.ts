import { err, ok, type Result } from "#lib/base/index.ts";

export interface FieldRequirement {
  readonly path: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export type FieldSelector = readonly FieldRequirement[];

/** Reads `metadata.name=a,status.phase!=Failed` (`==` is `=`). `\` escapes in values; empty terms are skipped. */
export function parseFieldSelector(text: string): Result<FieldSelector, string> {
  const requirements: FieldRequirement[] = [];
  for (const term of splitUnescaped(text)) {
    const requirement = readTerm(term);
    if (!requirement.ok) return requirement;
    requirements.push(requirement.value);
  }
  return ok(requirements);
}

/** An unknown field counts as the empty text. */
export const matchesFields = (selector: FieldSelector, valueOf: (path: string) => string | undefined): boolean =>
  selector.every(({ path, operator, value }) => ((valueOf(path) ?? "") === value) === (operator === "="));

/** `matchesFields` prepared for many objects. */
export function fieldMatcher(selector: FieldSelector): (valueOf: (path: string) => string | undefined) => boolean {
  const equal = new Map<string, string>();
  const others = new Map<string, Set<string>>();
  for (const { path, operator, value } of selector) {
    if (operator === "!=") others.set(path, (others.get(path) ?? new Set()).add(value));
    else if ((equal.get(path) ?? value) === value) equal.set(path, value);
    else return () => false;
  }
  return (valueOf) => {
    for (const [path, value] of equal) if ((valueOf(path) ?? "") !== value) return false;
    for (const [path, values] of others) if (values.has(valueOf(path) ?? "")) return false;
    return true;
  };
}

/** Escapes a text for use as a value in a field selector. */
export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, (symbol) => `\\${symbol}`);

function readTerm(term: string): Result<FieldRequirement, string> {
  const [, path = "", operator, raw = ""] = /^([^=!\\]+)(==|!=|=)(.*)$/s.exec(term) ?? [];
  if (path === "" || /^\s|\s$/.test(path))
    return err(`expected field=value or field!=value, found ${JSON.stringify(term)}`);
  const value = unescapeValue(raw);
  if (value === undefined)
    return err(
      `"=", "," and "\\" in a value need a backslash before them, and nothing else may have one: ${JSON.stringify(term)}`,
    );
  return ok({ path, operator: operator === "!=" ? "!=" : "=", value });
}

const unescapeValue = (raw: string): string | undefined =>
  /^(?:[^\\,=]|\\[\\,=])*$/s.test(raw) ? raw.replace(/\\([\\,=])/g, "$1") : undefined;

/** A lone backslash at the end is refused with its term. */
const splitUnescaped = (text: string): readonly string[] => text.match(/(?:[^\\,]|\\.|\\$)+/gs) ?? [];
