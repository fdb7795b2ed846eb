export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** The range of a Range header (RFC 9110 14.2). Undefined for the whole file: no range, other units or several ranges.
 * "bad" if it cannot be satisfied. */
export function parseRange(header: string | undefined, size: number): ByteRange | "bad" | undefined {
  const [, asked] = /^bytes=(.*)$/i.exec(header?.trim() ?? "") ?? [];
  if (asked === undefined || asked.includes(",")) return undefined;
  const [, from, to] = /^\s*(\d*)\s*-\s*(\d*)\s*$/.exec(asked) ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return "bad";
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "bad" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  return first >= size || (to !== "" && Number(to) < first) ? "bad" : { first, last };
}
