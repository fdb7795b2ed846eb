// Own ustar/pax writer, because the overlay of a step is appended behind the shared archive.

import type { RepositoryEntry } from "./entry.ts";

const blockSize = 512;

export const endOfArchive: Buffer = Buffer.alloc(2 * blockSize);

const mostInField = 8 ** 11 - 1;

const typeFlags = { file: "0", link: "2", directory: "5" } as const;

export function headerOf({ path, kind, mode, modified, size, target = "" }: RepositoryEntry): Buffer {
  const name = kind === "directory" ? `${path}/` : path;
  const records = [
    ...(fits(name) ? [] : [record("path", name)]),
    ...(fits(target) ? [] : [record("linkpath", target)]),
    ...(size > mostInField ? [record("size", `${size}`)] : []),
  ];
  const seconds = Math.min(Math.max(Math.floor(modified / 1000), 0), mostInField);
  const alike = { mode, seconds };
  const own = header({ ...alike, name, target, size: size > mostInField ? 0 : size, type: typeFlags[kind] });
  if (records.length === 0) return own;
  const body = Buffer.concat(records);
  const before = header({ ...alike, name: "pax", target: "", size: body.length, type: "x" });
  return Buffer.concat([before, body, paddingOf(body.length), own]);
}

export const paddingOf = (size: number): Buffer =>
  endOfArchive.subarray(0, (blockSize - (size % blockSize)) % blockSize);

const fits = (text: string): boolean => text.length <= 100 && Buffer.byteLength(text) === text.length;

/** The length includes its own digits. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length;
  while (length !== rest.length + `${length}`.length) length = rest.length + `${length}`.length;
  return Buffer.concat([Buffer.from(`${length}`), rest]);
}

interface Fields {
  readonly name: string;
  readonly target: string;
  readonly mode: number;
  readonly size: number;
  readonly seconds: number;
  readonly type: string;
}

/** Names that do not fit are cut; a pax record has the whole name. */
function header({ name, target, mode, size, seconds, type }: Fields): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, digits: number) =>
    block.write(value.toString(8).padStart(digits, "0"), at, "latin1");
  Buffer.from(name).copy(block, 0, 0, 100);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(seconds, 136, 11);
  // The checksum counts itself as blanks.
  block.fill(" ", 148, 156);
  block.write(type, 156, "latin1");
  Buffer.from(target).copy(block, 157, 0, 100);
  block.write("ustar\u000000", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  block[154] = 0;
  return block;
}
