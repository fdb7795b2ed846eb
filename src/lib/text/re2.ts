import { RE2JS } from "re2js";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { estimateSize } from "./re2-size.ts";

/**
 * A compiled pattern, immutable and shared. `test` and `find` take time linear in `size` times the length of the text;
 * callers that take both from users keep the product below a bound of their own or use `matchRe2`.
 */
export interface Re2 {
  readonly source: string;
  /**
   * Number of instructions, at least 1. A million instructions times characters take 60 ms when all of them are busy,
   * as those of `[a-z]{900}!` are on a long word, and a fraction of that with patterns that people write.
   */
  readonly size: number;
  /** Whether any part of the text matches. */
  test(text: string): boolean;
  /** The leftmost match (of equals the one a backtracking engine would prefer, as in Go), or undefined. */
  find(text: string): string | undefined;
  /**
   * At most `limit` matches that do not overlap, from left to right; all unless told. Each search starts anew behind
   * the last match and may have to look at the whole rest, as that of `a.*z|a` in "aaaa…" does: all of them together
   * can take the square of the length. The error says that the bound for that, about a second, was reached.
   */
  findAll(text: string, limit?: number): Result<Re2Matches, string>;
}

export interface Re2Matches {
  readonly found: readonly string[];
  /** Instructions times characters that the searches can have taken; what a caller with a budget charges. */
  readonly steps: number;
}

const longestPattern = 4_096;
/** Compiling this many instructions takes some 5 ms, and their program 2 MB. */
const largestProgram = 10_000;
/** Most instructions times characters in one match or one `findAll`, at most about a second. */
const mostWork = 20_000_000;
/** A search takes about 0.25 µs per character even for a small program: as long as this many busy instructions. */
const searchOverhead = 4;
const cacheSize = 200;
/** Compiled patterns, least recently used first. Patterns are values: sharing them cannot be observed. */
const cache = new Map<string, Re2>();

/**
 * Compiles a regular expression in RE2 syntax, the one Go and Kubernetes accept: no look-around, no back references.
 * Patterns over 4,096 characters or 10,000 instructions are refused. The last 200 patterns are kept.
 */
export function compileRe2(pattern: string): Result<Re2, string> {
  const known = cache.get(pattern);
  if (known !== undefined) {
    cache.delete(pattern);
    cache.set(pattern, known);
    return ok(known);
  }
  if (pattern.length > longestPattern) {
    return err(`a regular expression may have at most ${longestPattern} characters, found ${pattern.length}`);
  }
  const compiled = compile(pattern);
  if (compiled.ok) remember(pattern, compiled.value);
  return compiled;
}

/** Whether any part of the text matches (`^` and `$` for all); the error says why not compiled, or too slow. */
export function matchRe2(pattern: string, text: string): Result<boolean, string> {
  const compiled = compileRe2(pattern);
  if (!compiled.ok) return compiled;
  if (compiled.value.size * text.length > mostWork) {
    return tooLong(pattern, text);
  }
  return ok(compiled.value.test(text));
}

const tooLong = (pattern: string, text: string): Result<never, string> =>
  err(`a text of ${text.length} characters is too long for the regular expression ${JSON.stringify(pattern)}`);

function compile(pattern: string): Result<Re2, string> {
  if (estimateSize(pattern) > largestProgram) {
    return err(`the regular expression ${JSON.stringify(pattern.slice(0, 40))} repeats too much`);
  }
  try {
    return ok(wrap(pattern, RE2JS.compile(pattern)));
  } catch (thrown) {
    return err(`invalid regular expression ${JSON.stringify(pattern)}: ${messageOf(thrown)}`);
  }
}

function wrap(source: string, compiled: RE2JS): Re2 {
  const size = Math.max(1, compiled.programSize());
  return {
    source,
    size,
    test: (text) => compiled.matcher(text).find(),
    find: (text) => {
      const matcher = compiled.matcher(text);
      return matcher.find() ? (matcher.group() ?? "") : undefined;
    },
    findAll: (text, limit = Number.POSITIVE_INFINITY) => {
      const found: string[] = [];
      const matcher = compiled.matcher(text);
      let steps = 0;
      let searchedTo = 0;
      while (found.length < limit) {
        steps += (size + searchOverhead) * (text.length - searchedTo);
        if (steps > mostWork) return tooLong(source, text);
        if (!matcher.find()) break;
        // Go ignores an empty match right behind the match before it: `a*` in "baac" is "", "aa" and "".
        const isEcho = found.length > 0 && matcher.end() === searchedTo && matcher.start() === searchedTo;
        if (!isEcho) found.push(matcher.group() ?? "");
        searchedTo = matcher.end();
      }
      return ok({ found, steps });
    },
  };
}

function remember(pattern: string, compiled: Re2): void {
  cache.set(pattern, compiled);
  const oldest = cache.keys().next();
  if (cache.size > cacheSize && !oldest.done) cache.delete(oldest.value);
}
