import type { ByteLogs } from "./byte-logs.ts";

const linesPerStart = 1000;
/** Logs whose starts are kept. */
const mostLogs = 100;
const newline = 10;

interface Known {
  /** Where every thousandth line begins, from the first. */
  readonly starts: number[];
  lines: number;
  /** Bytes looked at. */
  read: number;
}

/** Where lines of logs begin: each byte is looked at once, as long as its log is one of the last hundred. */
export class LineStarts {
  readonly #known = new Map<string, Known>();

  /** A place before this line, by less than a thousand lines; the last known one of a log that is shorter. */
  async before(logs: Pick<ByteLogs, "read">, name: string, size: number, line: number): Promise<number> {
    const { starts } = await this.#upTo(logs, name, size);
    return starts[Math.min(Math.floor(line / linesPerStart), starts.length - 1)] ?? 0;
  }

  /** Lines that end before the place. */
  async lineAt(logs: Pick<ByteLogs, "read">, name: string, size: number, place: number): Promise<number> {
    const { starts } = await this.#upTo(logs, name, size);
    const at = starts.findLastIndex((start) => start <= place);
    let lines = at * linesPerStart;
    for await (const piece of logs.read(name, starts[at] ?? 0, place)) lines += countOf(piece);
    return lines;
  }

  async #upTo(logs: Pick<ByteLogs, "read">, name: string, size: number): Promise<Known> {
    const known = this.#known.get(name) ?? { starts: [0], lines: 0, read: 0 };
    this.#known.delete(name);
    this.#known.set(name, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostLogs && oldest !== undefined) this.#known.delete(oldest);
    // Another reader may look at the same bytes meanwhile.
    const from = known.read;
    let [lines, read] = [known.lines, from];
    const starts: number[] = [];
    for await (const piece of logs.read(name, from, size)) {
      for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) {
        lines += 1;
        if (lines % linesPerStart === 0) starts.push(read + at + 1);
      }
      read += piece.length;
    }
    if (known.read === from) {
      known.starts.push(...starts);
      known.lines = lines;
      known.read = read;
    }
    return known;
  }
}

function countOf(piece: Uint8Array): number {
  let lines = 0;
  for (let at = piece.indexOf(newline); at >= 0; at = piece.indexOf(newline, at + 1)) lines += 1;
  return lines;
}
