import { blockSize, paddingAfter, type TarEntry } from "./entry.ts";

/** An entry with its contents, which can be read once, and only before the next entry is asked for. */
export interface ReadEntry extends TarEntry {
  readonly body: AsyncIterable<Buffer>;
}

/** What is no archive, or has something in it that is neither file nor directory nor symbolic link. */
export class TarError extends Error {
  override readonly name = "TarError";
}

/** Records about one entry are short; more of them is somebody's attempt to fill the memory. */
const longestRecords = 1024 * 1024;

const types: Readonly<Record<string, TarEntry["type"]>> = { "0": "file", "\0": "file", "2": "link", "5": "directory" };

/**
 * The entries of an archive as it comes, in constant memory. What is left of an entry's body is passed over. Paths and targets are what
 * the archive says: whoever unpacks them has to judge them. Throws a `TarError` where the archive is cut off or broken.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry, void> {
  const bytes = new Bytes(source);
  try {
    yield* entriesIn(bytes);
    // Whoever makes the bytes may have something to say at their end.
    await bytes.drain();
  } finally {
    await bytes.close();
  }
}

async function* entriesIn(bytes: Bytes): AsyncGenerator<ReadEntry, void> {
  let records: ReadonlyMap<string, string> = new Map();
  for (;;) {
    const header = await bytes.take(blockSize);
    if (header.every((byte) => byte === 0)) return;
    checkSum(header);
    const flag = String.fromCharCode(header[156] ?? 0);
    const written = octal(header, 124, 12);
    if (flag === "x") {
      if (written > longestRecords) throw new TarError("the records of an entry are too long");
      records = parseRecords(await bytes.take(written));
      await bytes.skip(paddingAfter(written));
      continue;
    }
    const type = types[flag];
    if (type === undefined) throw new TarError(`an entry of type ${JSON.stringify(flag)}`);
    const size = type === "file" ? Number(records.get("size") ?? written) : 0;
    if (!Number.isSafeInteger(size) || size < 0) throw new TarError("an entry of no size");
    const path = (records.get("path") ?? text(header, 0, 100)).replace(/\/+$/, "");
    const target = records.get("linkpath") ?? text(header, 157, 100);
    records = new Map();
    const rest = { size };
    const body = bytes.body(rest);
    yield { path, type, mode: octal(header, 100, 8) & 0o7777, size, ...(type === "link" ? { target } : {}), body };
    await bytes.skip(rest.size + paddingAfter(size));
  }
}

function checkSum(header: Buffer): void {
  // Counted with blanks in the place of the sum itself.
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (octal(header, 148, 8) !== sum)
    throw new TarError("a header with a wrong sum: this is no archive, or a broken one");
}

const text = (header: Buffer, at: number, length: number): string => {
  const field = header.subarray(at, at + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end < 0 ? length : end);
};

function octal(header: Buffer, at: number, length: number): number {
  const digits = text(header, at, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new TarError("a header with a number that is none");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}

function parseRecords(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const [, digits = ""] = /^(\d{1,7}) /.exec(bytes.toString("latin1", at, at + 8)) ?? [];
    const length = Number(digits);
    const record = bytes.toString("utf8", at + digits.length + 1, at + length - 1);
    const mark = record.indexOf("=");
    if (digits === "" || mark < 0 || at + length > bytes.length) throw new TarError("a record that cannot be read");
    records.set(record.slice(0, mark), record.slice(mark + 1));
    at += length;
  }
  return records;
}

/** A source of chunks, read by counts. */
class Bytes {
  readonly #source: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** At most `most` bytes, at least one. */
  async #some(most: number): Promise<Buffer> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next();
      if (next.done === true) throw new TarError("the archive is cut off");
      this.#chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    }
    const some = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(some.length);
    return some;
  }

  async drain(): Promise<void> {
    for (let next = await this.#source.next(); next.done !== true; ) next = await this.#source.next();
  }

  /** Nothing more is read. */
  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async take(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = count; left > 0; left -= parts.at(-1)?.length ?? 0) parts.push(await this.#some(left));
    return Buffer.concat(parts);
  }

  async skip(count: number): Promise<void> {
    for (let left = count; left > 0; ) left -= (await this.#some(left)).length;
  }

  /** `rest.size` tells at any time how much is left. */
  async *body(rest: { size: number }): AsyncGenerator<Buffer, void> {
    while (rest.size > 0) {
      const some = await this.#some(rest.size);
      rest.size -= some.length;
      yield some;
    }
  }
}
