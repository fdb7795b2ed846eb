import { compileRe2, type Re2 } from "#lib/text/index.ts";
import { asNumber, asText, chargeLater, type LibraryFunction, matchStepsPerUnit } from "./function.ts";

// Kubernetes' regex library. The meter charges program size times text length before any of these runs (`cost.ts`).

/** Throws the compiler's message. `lib/text` caches patterns, so a rule over a list compiles once. */
function patternOf(value: unknown): Re2 {
  const compiled = compileRe2(asText(value));
  if (compiled.ok) return compiled.value;
  throw new Error(compiled.error);
}

const matches = (text: unknown, pattern: unknown): boolean => patternOf(pattern).test(asText(text));
/** The first match, or the empty text, as in Kubernetes. */
const find = (text: unknown, pattern: unknown): string => patternOf(pattern).find(asText(text)) ?? "";

/** At most `limit` matches; a negative limit means all, 0 none. Throws when the searches take too long. */
function findAll(text: unknown, pattern: unknown, limit?: unknown): readonly string[] {
  const most = limit === undefined ? -1 : asNumber(limit);
  const matches = patternOf(pattern).findAll(asText(text), most < 0 ? undefined : most);
  if (!matches.ok) throw new Error(matches.error);
  return chargeLater(matches.value.found, matches.value.steps / matchStepsPerUnit);
}

/** Patterns of users run in linear time: the CEL library's own `matches` can be made to hang. */
export const regexFunctions: readonly LibraryFunction[] = [
  { signature: "matches(string, string): bool", call: matches, replaces: true },
  { signature: "string.matches(string): bool", call: matches, replaces: true },
  { signature: "string.find(string): string", call: find },
  { signature: "string.findAll(string): list<string>", call: findAll },
  { signature: "string.findAll(string, int): list<string>", call: findAll },
];
