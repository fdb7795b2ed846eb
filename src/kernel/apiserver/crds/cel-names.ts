import { isJsonObject, type JsonValue } from "#lib/base/index.ts";

// CEL can only select members whose names are identifiers and no words of the language. Kubernetes lets rules name the others by
// escaping them; this evaluator works on plain JSON, so the members are renamed before a rule sees the value.

const identifier = /[A-Za-z_][A-Za-z0-9_]*/g;
/** What stands for what in a rule, in Kubernetes' notation. */
const escapes: Readonly<Record<string, string>> = {
  __underscores__: "__",
  __dot__: ".",
  __dash__: "-",
  __slash__: "/",
};
/** Words of CEL, which are escaped as a whole: `__namespace__`. */
const reserved = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
);

/**
 * Names in a rule that stand for members whose own names are no identifiers: `my__dash__field` for `my-field`, `__namespace__` for
 * `namespace`. From the member's name to the one the rule uses.
 */
export function escapedNames(rule: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [word] of rule.matchAll(identifier)) {
    const name = unescape(word);
    if (name !== word) names.set(name, word);
  }
  return names;
}

/** The name a word of a rule stands for; a word without escapes, known or not, stands for itself. */
function unescape(word: string): string {
  const inner = /^__([a-z]+)__$/.exec(word)?.[1];
  if (inner !== undefined && reserved.has(inner)) return inner;
  return word.replace(/__(?:underscores|dot|dash|slash)__/g, (escape) => escapes[escape] ?? escape);
}

/**
 * The value as such a rule sees it: with those members renamed, wherever they are. A copy, or the value itself when the rule has no
 * such names, which is nearly always. O(size of the value). Keys of maps are renamed as well: a rule that names one key both ways
 * (`self.labels['a-b']` and `self.a__dash__b`) finds it by the escaped name only.
 */
export function renameMembers(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (names.size === 0) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => renameMembers(item, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      names.get(name) ?? name,
      member === undefined ? undefined : renameMembers(member, names),
    ]),
  );
}
