// Archives as POSIX calls them (ustar, with records of pax for what does not fit), written here because the end of the archive has to stay open:
// what is different for a step is put behind what all steps have in common.

import type { RepositoryEntry } from "./repository.ts";

const blockSize = 512;

/** What marks the end: two empty blocks. */
export const endOfArchive: Buffer = Buffer.alloc(2 * blockSize);

/** What eleven digits to the base of eight can say. */
const mostInField = 8 ** 11 - 1;

const typeFlags = { file: "0", link: "2", directory: "5" } as const;

/** Everything before the bytes of an entry. It is root's, because the archive says nothing of users; times are whole seconds. */
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

/** What fills the last block of a file. */
export const paddingOf = (size: number): Buffer =>
  endOfArchive.subarray(0, (blockSize - (size % blockSize)) % blockSize);

/** Names of ASCII letters that are short need no record. */
const fits = (text: string): boolean => text.length <= 100 && Buffer.byteLength(text) === text.length;

/** `17 path=some/name\n`: the length counts its own digits. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length;
  while (length !== rest.length + `${length}`.length) length = rest.length + `${length}`.length;
  return Buffer.concat([Buffer.from(`${length}`), rest]);
}

/** Fields of a header that differ from entry to entry. Texts are cut to 100 bytes. */
interface Fields {
  readonly name: string;
  readonly target: string;
  readonly mode: number;
  readonly size: number;
  readonly seconds: number;
  readonly type: string;
}

/** One block. Names that do not fit are cut: a record says them whole. */
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
  // The sum of all bytes counts itself as blanks.
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
