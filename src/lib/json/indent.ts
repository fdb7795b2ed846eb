const code = (character: string): number => character.charCodeAt(0);
const quote = code('"');
const backslash = code("\\");
const [openObject, closeObject, openArray, closeArray] = [code("{"), code("}"), code("["), code("]")];
const [comma, colon] = [code(","), code(":")];
const isBlank = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/**
 * Lays out JSON for people, two blanks a level, as Go's MarshalIndent does: a function to be given the parts of a text
 * in order, cut anywhere, that returns what each becomes. No value is read, so no digit is lost. What is not JSON comes
 * out as something that is not JSON either. Linear; keeps a number and two flags between parts.
 */
export function jsonIndenter(): (part: Uint8Array) => Buffer {
  let depth = 0;
  let text: "outside" | "inside" | "escaped" = "outside";
  /** An object or array has just begun; empty ones stay on one line. */
  let isFresh = false;
  return (part) => {
    const out: string[] = [];
    let copied = 0;
    const lay = (at: number, before: string, after = "", length = 1) => {
      out.push(latin1(part, copied, at), before, latin1(part, at, at + length), after);
      copied = at + 1;
    };
    for (const [at, byte] of part.entries()) {
      if (text !== "outside") {
        text = insideText(text, byte);
        continue;
      }
      if (isBlank(byte)) {
        lay(at, "", "", 0);
        continue;
      }
      const isEnd = byte === closeObject || byte === closeArray;
      if (isEnd) depth -= 1;
      const begins = isFresh !== isEnd ? newLine(depth) : "";
      isFresh = byte === openObject || byte === openArray;
      if (isFresh) depth += 1;
      if (byte === quote) text = "inside";
      if (byte === comma) lay(at, begins, newLine(depth));
      else if (byte === colon) lay(at, begins, " ");
      else if (begins !== "") lay(at, begins);
    }
    out.push(latin1(part, copied, part.length));
    return Buffer.from(out.join(""), "latin1");
  };
}

const newLine = (depth: number): string => `\n${"  ".repeat(Math.max(0, depth))}`;

/** Bytes as characters of their numbers: characters of several bytes pass through as they are. */
const latin1 = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString("latin1");

function insideText(text: "inside" | "escaped", byte: number): "inside" | "escaped" | "outside" {
  if (text === "escaped") return "inside";
  if (byte === backslash) return "escaped";
  return byte === quote ? "outside" : "inside";
}
