import type { Problem } from "#lib/base/index.ts";

/** Arguments of a run from the command line; `problems` are about pairs that are none. */
export interface ReadParams {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

/**
 * `name=text` pairs of repeated `--param` or another option, the last of a name wins; the text may be empty and may hold `=`. What is no pair is
 * a problem beside those of the documents, so that a person hears of all of them at once.
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
