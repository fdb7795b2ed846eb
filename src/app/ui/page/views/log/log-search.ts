import type { LogMatches } from "#app/ui/wire.ts";
import { plainText } from "./ansi.ts";
import type { LogStore, StoredLine } from "./log-store.ts";

/** As the server lists them. */
const mostListed = 10_000;
/** Searched of one line: more is data. */
const longestSearched = 100_000;

const readable = ({ text }: StoredLine): string => plainText(text.slice(0, longestSearched));

/** Lines of the store that hold the text, without regard to case. */
export function matchesOf(store: LogStore, text: string): LogMatches {
  const wanted = text.toLowerCase();
  const found: number[] = [];
  if (wanted !== "")
    store.forEachChunk((lines, first) =>
      lines.forEach((line, index) => {
        if (readable(line).toLowerCase().includes(wanted)) found.push(first + index);
      }),
    );
  return { count: found.length, lines: found.slice(0, mostListed) };
}

/** Lines at which something failed. Of a log that grows only what is new is searched. */
export class ErrorSearch {
  readonly #pattern: RegExp;
  readonly #known = new WeakMap<readonly StoredLine[], readonly number[]>();

  constructor(pattern: RegExp) {
    this.#pattern = pattern;
  }

  of(store: LogStore): readonly number[] {
    const found: number[] = [];
    store.forEachChunk((lines, first) => {
      const known = this.#known.get(lines) ?? this.#search(lines, first);
      this.#known.set(lines, known);
      found.push(...known);
    });
    return found.slice(0, mostListed);
  }

  #search(lines: readonly StoredLine[], first: number): readonly number[] {
    return lines.flatMap((line, index) => (this.#pattern.test(readable(line).slice(0, 2000)) ? [first + index] : []));
  }
}
