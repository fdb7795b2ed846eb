import { type ReadonlySignal, signal } from "@preact/signals";
import type { LogLine, LogPage } from "#app/ui/wire.ts";
import { hasSequences, parseLine, plain, type Style } from "./ansi.ts";
import { type Mark, markOf } from "./log-marks.ts";
import type { Span } from "./log-rows.ts";

/** Where lines come from; tests have their own. A negative `from` counts from the end. */
export type FetchLines = (from: number, count: number, signal: AbortSignal) => Promise<LogPage>;

/** A line as it is kept: what came, the style that the lines before left, and what it means. */
export interface StoredLine extends LogLine {
  readonly style: Style;
  readonly mark?: Mark;
}

export type LogLoad = { readonly is: "loading" | "ready" } | { readonly is: "failed"; readonly thrown: unknown };

export const chunkLines = 1000;
/** Of other chunks the oldest is forgotten, and asked for again when it is looked at. */
const mostChunks = 250;
const mostChunkBytes = 48 * 1024 * 1024;
const mostRequests = 3;
const mostMarks = 10_000;

interface Chunk {
  readonly lines: readonly StoredLine[];
  readonly bytes: number;
}

/**
 * The lines of one log, in chunks of a thousand, of which only those are kept that somebody looked at lately. `version`
 * counts what has come: who draws reads it, then asks for lines.
 */
export class LogStore {
  readonly #fetch: FetchLines;
  readonly #chunks = new Map<number, Chunk>();
  readonly #asked = new Set<number>();
  readonly #abort = new AbortController();
  readonly #total = signal(0);
  readonly #isOver = signal(false);
  readonly #version = signal(0);
  readonly #first = signal(0);
  readonly #load = signal<LogLoad>({ is: "loading" });
  /** Of lines that were ever here, the 10,000 first. */
  readonly #marks = new Map<number, Mark>();
  /** Why the server has no lines. */
  why: string | undefined;
  #bytes = 0;
  #wanted: Span = { first: 0, end: 0 };

  constructor(fetch: FetchLines) {
    this.#fetch = fetch;
  }

  get total(): ReadonlySignal<number> {
    return this.#total;
  }
  /** Lines before it are not kept. */
  get first(): ReadonlySignal<number> {
    return this.#first;
  }
  get isOver(): ReadonlySignal<boolean> {
    return this.#isOver;
  }
  get version(): ReadonlySignal<number> {
    return this.#version;
  }
  get load(): ReadonlySignal<LogLoad> {
    return this.#load;
  }

  /** Reads the end of the log, which is what one looks at first. */
  async open(): Promise<void> {
    this.#load.value = { is: "loading" };
    await this.#read(-chunkLines, chunkLines);
  }

  close(): void {
    this.#abort.abort();
    this.#chunks.clear();
  }

  line(number: number): StoredLine | undefined {
    const key = Math.floor(number / chunkLines);
    return this.#chunks.get(key)?.lines[number - key * chunkLines];
  }

  /**
   * Asks for the lines that are not here. The last wish counts: what was asked for and is not needed any more may come
   * or not.
   */
  want(span: Span): void {
    this.#wanted = span;
    this.#askForWanted();
  }

  /** All lines at once, of a log that is short enough to be kept as a whole. */
  async wantAll(): Promise<boolean> {
    if (this.#total.peek() > mostChunks * chunkLines) return false;
    for (let key = 0; key * chunkLines < this.#total.peek(); key++) {
      while (!this.#isWhole(key)) if (this.#abort.signal.aborted || !(await this.#readRest(key))) return false;
    }
    return this.hasAll();
  }

  hasAll(): boolean {
    for (let key = 0; key * chunkLines < this.#total.peek(); key++) if (!this.#isWhole(key)) return false;
    return true;
  }

  /** In the order of lines. */
  marks(): readonly { readonly line: number; readonly mark: Mark }[] {
    return [...this.#marks].map(([line, mark]) => ({ line, mark })).sort((a, b) => a.line - b.line);
  }

  /** Lines that are here, in order, with the number of the first. A chunk to which lines are added is another list. */
  forEachChunk(look: (lines: readonly StoredLine[], first: number) => void): void {
    for (const [key, { lines }] of [...this.#chunks].sort(([a], [b]) => a - b)) look(lines, key * chunkLines);
  }

  /** Lines that came, by request or because the log grows. */
  take({ from, lines, total, isOver, why }: LogPage): void {
    this.why = why;
    let at = 0;
    while (at < lines.length) {
      const key = Math.floor((from + at) / chunkLines);
      const offset = from + at - key * chunkLines;
      const part = lines.slice(at, at + chunkLines - offset);
      this.#put(key, offset, part);
      at += part.length;
    }
    this.#forget();
    this.#total.value = Math.max(total, this.#total.peek());
    this.#isOver.value = isOver;
    this.#load.value = { is: "ready" };
    this.#version.value += 1;
  }

  /** A chunk holds its first lines without a gap; what would leave one is asked for again. */
  #put(key: number, offset: number, added: readonly LogLine[]): void {
    const known = this.#chunks.get(key);
    const gone = Math.max(0, Math.min(chunkLines, this.#first.peek() - key * chunkLines));
    const before = known?.lines ?? Array.from({ length: gone }, () => goneLine);
    if (offset > before.length || offset + added.length <= before.length) return;
    const fresh = styled(added.slice(before.length - offset), before.at(-1) ?? this.line(key * chunkLines - 1));
    const bytes = fresh.reduce((sum, { text }) => sum + 2 * text.length + 64, 0);
    this.#chunks.delete(key);
    this.#chunks.set(key, { lines: [...before, ...fresh], bytes: (known?.bytes ?? 0) + bytes });
    this.#bytes += bytes;
    for (const [index, { mark }] of fresh.entries())
      if (mark !== undefined && this.#marks.size < mostMarks)
        this.#marks.set(key * chunkLines + before.length + index, mark);
  }

  #forget(): void {
    for (const [key, chunk] of this.#chunks) {
      if (this.#chunks.size <= mostChunks && this.#bytes <= mostChunkBytes) return;
      if (this.#isWanted(key) || this.#chunks.size === 1) continue;
      this.#chunks.delete(key);
      this.#bytes -= chunk.bytes;
    }
  }

  #isWanted(key: number): boolean {
    return key * chunkLines < this.#wanted.end && (key + 1) * chunkLines > this.#wanted.first;
  }

  #isWhole(key: number): boolean {
    if ((key + 1) * chunkLines <= this.#first.peek()) return true;
    const expected = Math.min(chunkLines, this.#total.peek() - key * chunkLines);
    return (this.#chunks.get(key)?.lines.length ?? 0) >= expected;
  }

  #askForWanted(): void {
    const { first, end } = this.#wanted;
    for (let key = Math.floor(first / chunkLines); key * chunkLines < Math.min(end, this.#total.peek()); key++) {
      if (this.#asked.size >= mostRequests) return;
      if (this.#isWhole(key) || this.#asked.has(key)) continue;
      this.#asked.add(key);
      void this.#readRest(key).then((isRead) => {
        this.#asked.delete(key);
        if (isRead) this.#askForWanted();
      });
    }
  }

  /** A page may end early, at its limit of bytes. False if nothing came. */
  async #readRest(key: number): Promise<boolean> {
    const before = this.#chunks.get(key)?.lines.length ?? 0;
    const isRead = await this.#read(key * chunkLines + before, chunkLines - before);
    return isRead && (this.#chunks.get(key)?.lines.length ?? 0) > before;
  }

  async #read(from: number, count: number): Promise<boolean> {
    try {
      const page = await this.#fetch(from, count, this.#abort.signal);
      if (from >= 0 && page.from > from && page.lines.length > 0) this.#first.value = page.from;
      // A tail begins within a chunk, which is kept from its start on.
      const key = Math.floor(page.from / chunkLines);
      const start = key * chunkLines + (this.#chunks.get(key)?.lines.length ?? 0);
      const head = page.from > start ? await this.#fetch(start, page.from - start, this.#abort.signal) : undefined;
      if (this.#abort.signal.aborted) return false;
      if (head !== undefined && head.from > start) this.#first.value = head.from;
      if (head !== undefined) this.take({ ...head, isOver: page.isOver });
      this.take(page);
      return true;
    } catch (thrown) {
      if (!this.#abort.signal.aborted) this.#load.value = { is: "failed", thrown };
      return false;
    }
  }
}

const goneLine: StoredLine = { text: "", style: plain };

/** Styles go on from line to line; lines without sequences, which are most, are not parsed. */
function styled(lines: readonly LogLine[], before: StoredLine | undefined): readonly StoredLine[] {
  let style = before === undefined ? plain : styleAfter(before);
  return lines.map((line) => {
    const mark = markOf(line.text);
    const stored = { ...line, style, ...(mark === undefined ? {} : { mark }) };
    style = styleAfter(stored);
    return stored;
  });
}

/** Longer lines are data, not text with colours. */
const longestStyled = 16_384;

const styleAfter = ({ text, style }: StoredLine): Style =>
  text.length > longestStyled || !hasSequences(text) ? style : parseLine(text, style).style;
