import type { ByteLogs } from "./byte-logs.ts";
import { LineStarts } from "./line-starts.ts";
import type { LogRequest } from "./log-request.ts";

const newline = 10;
const blockBytes = 64 * 1024;

/** Answers requests for byte logs, whose lines have neither times nor streams. */
export class ByteLogReader {
  readonly #logs: Pick<ByteLogs, "size" | "read" | "follow">;
  readonly #starts = new LineStarts();

  constructor(logs: Pick<ByteLogs, "size" | "read" | "follow">) {
    this.#logs = logs;
  }

  /** With `until` also what comes before that aborts. Undefined if there is no such log. */
  async read(
    name: string,
    request: Pick<LogRequest, "numbered" | "fromLine" | "tailLines" | "limitBytes">,
    until?: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const { numbered: isNumbered = false, fromLine, tailLines, limitBytes = Number.POSITIVE_INFINITY } = request;
    const size = await this.#logs.size(name);
    if (size === undefined) return undefined;
    let from = 0;
    if (isNumbered && fromLine !== undefined) from = await this.#starts.before(this.#logs, name, size, fromLine);
    else if (tailLines !== undefined) from = await this.#tailStart(name, size, tailLines);
    const line = isNumbered ? await this.#starts.lineAt(this.#logs, name, size, from) : 0;
    const bytes = until === undefined ? this.#logs.read(name, from) : this.#logs.follow(name, from, until);
    return limited(isNumbered ? numbered(bytes, line) : bytes, limitBytes);
  }

  /** Where the last lines begin. A newline at the very end ends the last line. */
  async #tailStart(name: string, size: number, lines: number): Promise<number> {
    if (lines === 0) return size;
    let found = 0;
    for (let end = size; end > 0; end = Math.max(0, end - blockBytes)) {
      const start = Math.max(0, end - blockBytes);
      const pieces: Uint8Array[] = [];
      for await (const piece of this.#logs.read(name, start, end)) pieces.push(piece);
      const bytes = Buffer.concat(pieces);
      for (let at = bytes.length - 1; at >= 0; at--) {
        if (bytes[at] !== newline || start + at === size - 1) continue;
        if (++found === lines) return start + at + 1;
      }
    }
    return 0;
  }
}

async function* limited(bytes: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let left = most;
  for await (const piece of bytes) {
    yield piece.length > left ? piece.subarray(0, left) : piece;
    left -= piece.length;
    if (left <= 0) return;
  }
}

async function* numbered(bytes: AsyncIterable<Uint8Array>, line: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${line}\n`);
  let isStart = true;
  for await (const piece of bytes) {
    if (piece.length === 0) continue;
    const text = Buffer.from(piece).toString("latin1");
    yield Buffer.from(`${isStart ? "- - F " : ""}${text.replaceAll(/\n(?!$)/g, "\n- - F ")}`, "latin1");
    isStart = text.endsWith("\n");
  }
}
