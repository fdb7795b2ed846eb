import { blockSize, paddingAfter, type TarEntry } from "./entry.ts";

// POSIX.1-2001, "pax Interchange Format": a ustar header for every entry, before it a header of type `x` with what does not fit.
// Owners and times are left out (0), so that the same tree always has the same bytes.

const typeFlags: Readonly<Record<TarEntry["type"], string>> = { file: "0", link: "2", directory: "5" };

/** Largest size that 11 octal digits hold. */
const largestSize = 0o77777777777;
const longestName = 100;

/** The blocks before the contents of an entry. */
export function tarHeader(entry: TarEntry): Buffer {
  const { path, target = "", size } = entry;
  const name = entry.type === "directory" ? `${path}/` : path;
  const records: (readonly [string, string])[] = [];
  if (!fits(name)) records.push(["path", name]);
  if (!fits(target)) records.push(["linkpath", target]);
  if (size > largestSize) records.push(["size", `${size}`]);
  const flag = typeFlags[entry.type];
  const header = block({ name, target, flag, mode: entry.mode, size: size > largestSize ? 0 : size });
  if (records.length === 0) return header;
  const body = Buffer.concat(records.map(([key, value]) => paxRecord(key, value)));
  const extended = block({ name: "PaxHeader", target: "", flag: "x", mode: 0o644, size: body.length });
  return Buffer.concat([extended, body, Buffer.alloc(paddingAfter(body.length)), header]);
}

/** Other characters than ASCII mean different things to different readers of a ustar header. */
const fits = (text: string): boolean => text.length <= longestName && /^[\x20-\x7e]*$/.test(text);

/** `<length> <key>=<value>\n`, where the length counts itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = Buffer.from(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (`${length}`.length + rest.length !== length) length = `${length}`.length + rest.length;
  return Buffer.concat([Buffer.from(`${length}`), rest]);
}

interface Block {
  readonly name: string;
  readonly target: string;
  readonly flag: string;
  readonly mode: number;
  readonly size: number;
}

/** One ustar header. Names that do not fit are cut: a record before it has them whole. */
function block({ name, target, flag, mode, size }: Block): Buffer {
  const bytes = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, digits: number): void =>
    void bytes.write(`${value.toString(8).padStart(digits, "0")}\0`, at, "latin1");
  bytes.write(name.slice(0, longestName), 0, longestName, "utf8");
  octal(mode & 0o7777, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(0, 136, 11);
  bytes.write("        ", 148, "latin1");
  bytes.write(flag, 156, "latin1");
  bytes.write(target.slice(0, longestName), 157, longestName, "utf8");
  bytes.write("ustar\x0000", 257, "latin1");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
}
