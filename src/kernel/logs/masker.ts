/** What stands in a log for what must not. */
const mark = Buffer.from("***");
/** Shorter ones are words of every language: putting them out would tear the log and hide nothing. In characters. */
const shortest = 4;
/** Of the inner part of base64, in characters: six bytes of a value. */
const shortestInner = 8;
/** A longer line is looked for in pieces of this size, so that little is held back. */
const longest = 4096;

const nothing = Buffer.alloc(0);

/**
 * Puts `***` in the place of values in the output of one stream, however it is cut into chunks. A value is looked for line by line, as
 * it is, in base64 (also as a part of a longer text, in lines of 64 and 76 characters, and in the alphabet for URLs), percent-encoded and in the forms that JSON writers give it; of two that begin at one place the longer one counts. Another form, or a value that a program
 * prints in pieces, is not found.
 *
 * The end of a chunk that may be the beginning of a value is held back until it is known, at most 4 KiB. Linear in the bytes for a
 * given number of values.
 */
export class Masker {
  /** The longest first. */
  readonly #needles: readonly Buffer[];
  #held: Buffer = nothing;

  constructor(values: readonly string[]) {
    this.#needles = needlesOf(values);
  }

  /** What may be shown of the output so far and was not shown yet. Parts of the chunk are returned as they are. */
  take(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    return this.#mask(bytes, (from) => this.#beginning(bytes, from));
  }

  /** What was held back. What is taken afterwards is another text. */
  end(): Buffer {
    const bytes = this.#held;
    return this.#mask(bytes, () => bytes.length);
  }

  /** `holdFrom` tells where what cannot be judged yet begins, at or after a place. */
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
    // A copy: the chunk need not stay for a few bytes of it.
    this.#held = Buffer.from(bytes.subarray(hold));
    const rest = bytes.subarray(from, hold);
    return shown.length === 0 ? rest : Buffer.concat([...shown, rest]);
  }

  /** The first value at or after a place. `next` has where each of them comes next, -1 for those that come no more. */
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

  /** Where the first beginning of a value stands that the end of the bytes cuts off; their length when there is none. */
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

/** A text of ours that may repeat what a program was given, without these values. */
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
      // `echo "$X" | base64` encodes the newline at the end, too.
      const encoded = [line, `${line}\n`].map((text) => Buffer.from(text).toString("base64"));
      const inBase64 = [...encoded, ...encoded.map(withoutPadding), ...encoded.flatMap(wrapped), ...innerBase64(line)];
      for (const text of [line, ...inBase64, ...inBase64.map(urlSafe), percentEncoded(line), ...jsonForms(line)])
        if (!text.includes("\n")) texts.add(text);
    }
  }
  const needles = [...texts].flatMap((text) => piecesOf(Buffer.from(text)));
  return needles.sort((a, b) => b.length - a.length);
}

/**
 * What a text is in the base64 of a longer one, such as `user:password`: the characters that depend on nothing but it, for each of the three places
 * at which it may begin. Those at its ends hold bits of its neighbours and stay; what is so short that other texts may have it is left out.
 */
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

/** The other alphabet of RFC 4648, which tokens are written in. */
const urlSafe = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_");

/** Columns at which programs break base64: `base64` and MIME, and PEM and `openssl`. */
const columns = [76, 64] as const;

/** The lines of a long one. One that is a part of a longer text is broken anywhere, and not found where that is inside of it. */
const wrapped = (text: string): readonly string[] =>
  columns
    .flatMap((width) =>
      text.length > width
        ? Array.from({ length: Math.ceil(text.length / width) }, (_, at) => text.slice(at * width, (at + 1) * width))
        : [],
    )
    .filter((line) => line.length >= shortest);

/** Whoever reads the JSON gets the value back from any of them, so that a form that is missed shows it in plain. */
function jsonForms(text: string): readonly string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  // Python and PHP have ASCII only, PHP also escapes slashes, and Go what HTML would read.
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

/** Half a surrogate pair has no such form; then there is the text itself. */
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
