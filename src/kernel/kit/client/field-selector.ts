import { err, ok, type Result } from "#lib/base/index.ts";

// Kubernetes' field selectors as text; which fields a kind can be selected by is for the server of the kind to say.

/** One condition on a field: `path` is a label such as `metadata.name` or `status.phase`. */
export interface FieldRequirement {
  readonly path: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** All requirements must hold; an empty selector matches everything. */
export type FieldSelector = readonly FieldRequirement[];

/**
 * Reads `metadata.name=a,status.phase!=Failed` (`==` is `=`). In a value, `,`, `=` and `\\` need a backslash before them, and no other
 * character may have one. Empty terms, as a comma at the end leaves one, are passed over as in Kubernetes. Spaces belong to the path or value
 * they stand in, which no path has.
 */
export function parseFieldSelector(text: string): Result<FieldSelector, string> {
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

/** The same for many objects, made ready once: a field is looked at twice at most, however many requirements there are on it. */
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

/** A text made safe for use as a value in a field selector. Whatever it holds, reading the selector gives it back. */
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

/** A lone backslash at the end stays in its term, whose reader refuses it. */
const splitUnescaped = (text: string): readonly string[] => text.match(/(?:[^\\,]|\\.|\\$)+/gs) ?? [];
