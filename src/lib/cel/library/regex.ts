import { compileRe2, type Re2 } from "#lib/text/index.ts";
import { asNumber, asText, type LibraryFunction } from "./function.ts";

function patternOf(value: unknown): Re2 {
  const compiled = compileRe2(asText(value));
  if (compiled.ok) return compiled.value;
  throw new Error(compiled.error);
}

const matches = (text: unknown, pattern: unknown): boolean => patternOf(pattern).test(asText(text));
const find = (text: unknown, pattern: unknown): string => patternOf(pattern).find(asText(text)) ?? "";

/** At most `limit` matches; a negative limit means all. */
function findAll(text: unknown, pattern: unknown, limit?: unknown): readonly string[] {
  const most = limit === undefined ? -1 : asNumber(limit);
  return patternOf(pattern).findAll(asText(text), most < 0 ? undefined : most);
}

/** Patterns of users run in linear time: the CEL library's own `matches` can be made to hang. */
export const regexFunctions: readonly LibraryFunction[] = [
  { signature: "matches(string, string): bool", call: matches, replaces: true },
  { signature: "string.matches(string): bool", call: matches, replaces: true },
  { signature: "string.find(string): string", call: find },
  { signature: "string.findAll(string): list<string>", call: findAll },
  { signature: "string.findAll(string, int): list<string>", call: findAll },
];
