const mark = Buffer.from("***");
/** Shorter values are ordinary words: masking them would tear the log and hide nothing. */
const shortest = 4;
/** Of the inner part of base64: six bytes of a value. */
const shortestInner = 8;
/** Longer lines are searched for in pieces, so that little is held back. */
const longest = 4096;
const nothing = Buffer.alloc(0);

/**
 * Replaces values in the output of one stream by `***`, however it is cut into chunks. A value is searched for line by
 * line: as it is, in base64 (also inside a longer text, in lines of 64 and 76 characters, and in the URL alphabet),
 * percent-encoded, and in JSON forms. Other forms, and values printed in pieces, are not found. At most 4 KiB of a
 * chunk's end is held back. Linear in the bytes.
 */
export class Masker {
  /** Longest first. */
  readonly #needles: readonly Buffer[];
  #held: Buffer = nothing;

  constructor(values: readonly string[]) {
    this.#needles = needlesOf(values);
  }

  /** The output that may be shown now. Parts of the chunk are returned as they are. */
  take(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return this.#mask(bytes, (from) => this.#beginning(bytes, from));
  }

  /** The output held back. Later output is another text. */
  end(): Buffer {
    const bytes = this.#held;
    return this.#mask(bytes, () => bytes.length);
  }

  /** `holdFrom` returns where output begins that cannot be judged yet. */
  #mask(bytes: Buffer, holdFrom: (from: number) => number): Buffer {
    const next = this.#needles.map((needle) => bytes.indexOf(needle));
    const shown: Buffer[] = [];
    let from = 0;
    let hold = holdFrom(0);
    for (;;) {
      const found = this.#firstFrom(bytes, from, next);
      if (found === undefined || hold <= found.at) break;
      shown.push(bytes.subarray(from, found.at), mark);
      from = found.at + found.length;
      if (hold < from) hold = holdFrom(from);
    }
    // A copy: a few bytes must not keep the chunk.
    this.#held = Buffer.from(bytes.subarray(hold));
    const rest = bytes.subarray(from, hold);
    return shown.length === 0 ? rest : Buffer.concat([...shown, rest]);
  }

  /** The first value at or after a place. `next` has the next place of each, or -1. */
  #firstFrom(
    bytes: Buffer,
    from: number,
    next: number[],
  ): { readonly at: number; readonly length: number } | undefined {
    let first: { readonly at: number; readonly length: number } | undefined;
    for (const [index, needle] of this.#needles.entries()) {
      let at = next[index] ?? -1;
      if (at >= 0 && at < from) next[index] = at = bytes.indexOf(needle, from);
      if (at >= 0 && (first === undefined || at < first.at)) first = { at, length: needle.length };
    }
    return first;
  }

  /** Where a value begins that the end of the bytes cuts off; their length if there is none. */
  #beginning(bytes: Buffer, from: number): number {
    let first = bytes.length;
    for (const needle of this.#needles) {
      const earliest = Math.max(from, bytes.length - needle.length + 1);
      let at = bytes.indexOf(needle[0] ?? 0, earliest);
      while (at >= 0 && at < first) {
        if (bytes.compare(needle, 0, bytes.length - at, at) === 0) first = at;
        else at = bytes.indexOf(needle[0] ?? 0, at + 1);
      }
    }
    return first;
  }
}

/** Masks a text of our own that may repeat a program's arguments. */
export function withoutValues(text: string, values: readonly string[]): string {
  if (values.length === 0) return text;
  const masker = new Masker(values);
  return Buffer.concat([masker.take(Buffer.from(text)), masker.end()]).toString();
}

function needlesOf(values: readonly string[]): readonly Buffer[] {
  const texts = new Set<string>();
  for (const value of values) {
    const lines = [value, ...value.split("\n")].map((line) => line.trim()).filter((line) => line.length >= shortest);
    for (const line of lines) {
      // `echo "$X" | base64` encodes the newline, too.
      const encoded = [line, `${line}\n`].map((text) => Buffer.from(text).toString("base64"));
      const inBase64 = [...encoded, ...encoded.map(withoutPadding), ...encoded.flatMap(wrapped), ...innerBase64(line)];
      for (const text of [line, ...inBase64, ...inBase64.map(urlSafe), percentEncoded(line), ...jsonForms(line)])
        if (!text.includes("\n")) texts.add(text);
    }
  }
  const needles = [...texts].flatMap((text) => piecesOf(Buffer.from(text)));
  return needles.sort((a, b) => b.length - a.length);
}

/** A text inside a longer base64: for each of three alignments what depends on it alone, unless too short. */
function innerBase64(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2]
    .map((offset) => {
      const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
      return encoded.slice(Math.ceil((offset * 4) / 3), Math.floor(((offset + bytes.length) * 4) / 3));
    })
    .filter((inner) => inner.length >= shortestInner);
}

const withoutPadding = (text: string): string => text.replace(/=+$/, "");

/** The URL alphabet of RFC 4648. */
const urlSafe = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_");

/** Line widths of `base64` and MIME, and of PEM and `openssl`. */
const columns = [76, 64] as const;

/** The lines of a wrapped text. Inside a longer text the line breaks differ, and it is not found. */
const wrapped = (text: string): readonly string[] =>
  columns
    .flatMap((width) =>
      text.length > width
        ? Array.from({ length: Math.ceil(text.length / width) }, (_, at) => text.slice(at * width, (at + 1) * width))
        : [],
    )
    .filter((line) => line.length >= shortest);

/** Forms from which JSON readers restore the value. */
function jsonForms(text: string): readonly string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  // Python and PHP escape non-ASCII, PHP also slashes, and Go what is special in HTML.
  const ascii = plain.replace(/[^ -~]/g, escaped);
  return [
    plain,
    ascii,
    ascii.replaceAll("/", "\\/"),
    plain.replaceAll("/", "\\/"),
    plain.replace(/[<>&\u2028\u2029]/g, escaped),
  ];
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Half a surrogate pair cannot be encoded. */
function percentEncoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

function piecesOf(text: Buffer): readonly Buffer[] {
  const count = Math.ceil(text.length / longest);
  return Array.from({ length: count }, (_, index) => text.subarray(index * longest, (index + 1) * longest)).filter(
    (piece) => piece.length >= shortest,
  );
}
