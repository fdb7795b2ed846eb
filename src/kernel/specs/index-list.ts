import { err, ok, type Result } from "#lib/base/index.ts";

const index = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * Counts the indexes in a text such as `0,2-4` (4), the form of a Job's `succeededIndexes`, `completedIndexes` and
 * `failedIndexes`: single indexes and ranges `first-last` with first < last, strictly increasing, all below
 * `completions`. The error says what is wrong with which part.
 */
export function countIndexes(text: string, completions: number): Result<number, string> {
  if (text === "") return ok(0);
  let [count, last] = [0, -1];
  for (const part of text.split(",")) {
    const [first = "", end = first, ...more] = part.split("-");
    if (more.length > 0 || !index.test(first) || !index.test(end))
      return err(`"${part}" is neither an index nor a range of indexes such as 2-4`);
    const [from, to] = [Number(first), Number(end)];
    if (to >= completions) return err(`"${part}" is too large: indexes are less than completions (${completions})`);
    if (from <= last) return err(`"${part}" does not come after the index ${last}: the indexes must be increasing`);
    if (part.includes("-") && from >= to) return err(`"${part}" is no range: its first index must be below its last`);
    count += to - from + 1;
    last = to;
  }
  return ok(count);
}
