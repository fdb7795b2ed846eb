import { RE2JS } from "re2js";
import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import { estimateSize } from "./re2-size.ts";

/**
 * A compiled pattern. Every operation takes time linear in `size` times the length of the text; callers that take both from
 * users keep the product below a bound of their own or use `matchRe2`.
 */
export interface Re2 {
  readonly source: string;
  /** Number of instructions, at least 1. A million instructions times characters take some milliseconds. */
  readonly size: number;
  /** Whether any part of the text matches. */
  test(text: string): boolean;
  /** The first match, or undefined. */
  find(text: string): string | undefined;
  /** At most `limit` matches that do not overlap, from left to right. */
  findAll(text: string, limit?: number): readonly string[];
}

const longestPattern = 4_096;
const largestProgram = 10_000;
/** Most instructions times characters in one match, about a second. */
const mostWork = 200_000_000;
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

/** Whether any part of the text matches the pattern; the error says why the pattern is none, or too slow for the text. */
export function matchRe2(pattern: string, text: string): Result<boolean, string> {
  const compiled = compileRe2(pattern);
  if (!compiled.ok) return compiled;
  if (compiled.value.size * text.length > mostWork) {
    return err(`a text of ${text.length} characters is too long for the regular expression ${JSON.stringify(pattern)}`);
  }
  return ok(compiled.value.test(text));
}

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
  const findAll = (text: string, limit = Number.POSITIVE_INFINITY): readonly string[] => {
    const found: string[] = [];
    const matcher = compiled.matcher(text);
    while (found.length < limit && matcher.find()) found.push(matcher.group() ?? "");
    return found;
  };
  const size = Math.max(1, compiled.programSize());
  return { source, size, test: (text) => compiled.matcher(text).find(), find: (text) => findAll(text, 1)[0], findAll };
}

function remember(pattern: string, compiled: Re2): void {
  cache.set(pattern, compiled);
  const oldest = cache.keys().next();
  if (cache.size > cacheSize && !oldest.done) cache.delete(oldest.value);
}
