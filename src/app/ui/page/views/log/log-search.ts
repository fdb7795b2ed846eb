import type { LogMatches } from "#app/ui/wire.ts";
import { plainText } from "./ansi.ts";
import type { LogStore, StoredLine } from "./log-store.ts";

/** As the server lists them. */
const mostListed = 10_000;
/** Searched of one line: more is data. */
const longestSearched = 100_000;

const readable = ({ text }: StoredLine): string => plainText(text.slice(0, longestSearched));

function matching(store: LogStore, isMatch: (text: string) => boolean): LogMatches {
  const lines: number[] = [];
  let count = 0;
  store.forEach((line, number) => {
    if (!isMatch(readable(line))) return;
    count += 1;
    if (lines.length < mostListed) lines.push(number);
  });
  return { count, lines };
}

/** Lines of the store that hold the text, without regard to case. */
export function matchesOf(store: LogStore, text: string): LogMatches {
  const wanted = text.toLowerCase();
  return wanted === "" ? { count: 0, lines: [] } : matching(store, (line) => line.toLowerCase().includes(wanted));
}

/** Lines of the store at which something failed. */
export function errorsOf(store: LogStore, pattern: RegExp): readonly number[] {
  return matching(store, (line) => pattern.test(line.slice(0, 2000))).lines;
}
