/** Damages bytes: a few random changes of the kinds that find mistakes in parsers. */
export interface Mutator {
  /** A damaged copy of one of the inputs, now and then a mix of two. */
  next(inputs: readonly Buffer[]): Buffer;
}

/** Pieces that mean something to one of the readers. */
const words = [
  ..."{}[]:,\"'&*!|>-#%@`\\$.()=~^\t\n\0".split(""),
  "\n---\n",
  "\n  ",
  "<<: *a",
  "&a ",
  "*a",
  "!!binary ",
  "null",
  "true",
  "~",
  "0x1F",
  "1e999",
  "-0",
  "9007199254740993",
  "18446744073709551616",
  "__proto__",
  "constructor",
  '"op":"move"',
  '"path":"/metadata/name"',
  "/~1~0/-",
  "$patch",
  "$setElementOrder/containers",
  "$retainKeys",
  "metadata",
  "managedFields",
  "apiVersion",
  " notin (",
  " in (a,b)",
  "!=",
  "..",
  "[?(@.a==",
  "[-1:",
  "\ufeff",
  "\ud800",
  "é☃😀",
  "\u0080\u00ff",
].map((word) => Buffer.from(word));

const longest = 20_000;

export function mutator(random: () => number): Mutator {
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const splice = (bytes: Buffer, at: number, gone: number, come: Uint8Array) =>
    Buffer.concat([bytes.subarray(0, at), come, bytes.subarray(at + gone)]);
  const change = (bytes: Buffer, inputs: readonly Buffer[]): Buffer => {
    const at = below(bytes.length + 1);
    const length = below(1 + Math.min(64, bytes.length - at));
    switch (below(7)) {
      case 0:
        return splice(bytes, at, 1, Buffer.of(below(256)));
      case 1:
        return splice(bytes, at, length, Buffer.alloc(0));
      case 2:
        return splice(bytes, at, 0, bytes.subarray(at, at + length));
      case 3:
        return splice(bytes, at, length, Buffer.alloc(0)).subarray(0, at);
      case 4: {
        const other = pick(inputs);
        return splice(bytes, at, length, other.subarray(below(other.length)));
      }
      default:
        return splice(bytes, at, below(2), pick(words));
    }
  };
  return {
    next(inputs) {
      let bytes = pick(inputs);
      for (let left = 1 + below(5); left > 0; left--) bytes = change(bytes, inputs);
      return bytes.subarray(0, longest);
    },
  };
}
