import type { Problem } from "#lib/base/index.ts";

/** `problems` are invalid pairs. */
export interface ReadParams {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

/**
 * `name=text` pairs of a repeated option; the last of a name wins, and the text may contain `=`. Invalid pairs are
 * problems, to be reported with those of the documents.
 */
export function readParams(pairs: readonly string[], option = "--param"): ReadParams {
  const values: [string, string][] = [];
  const problems: Problem[] = [];
  for (const pair of pairs) {
    const equals = pair.indexOf("=");
    if (equals > 0) values.push([pair.slice(0, equals), pair.slice(equals + 1)]);
    else {
      const message = `expected ${option} name=value, found ${JSON.stringify(pair)}`;
      problems.push({ severity: "error", code: "invalid-argument", path: "", message });
    }
  }
  return { values: Object.fromEntries(values), problems };
}
