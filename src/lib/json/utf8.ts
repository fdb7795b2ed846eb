import { err, ok, type Result } from "#lib/base/index.ts";
import type { JsonError } from "./parse.ts";

// Non-fatal decoding would put U+FFFD in the place of wrong bytes: two different keys could become one.
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8 and keeps a byte order mark, which is then a syntax error at offset 0. */
export function decodeUtf8(bytes: Uint8Array): Result<string, JsonError> {
  try {
    return ok(strict.decode(bytes));
  } catch {
    return err(encodingError(bytes));
  }
}

/** At the first byte that cannot stand where it stands; line and column count the characters that are complete before it. */
function encodingError(bytes: Uint8Array): JsonError {
  const offset = validPrefix(bytes);
  const before = new TextDecoder().decode(bytes.subarray(0, offset));
  const line = before.split("\n").length;
  const column = before.length - before.lastIndexOf("\n");
  return { code: "encoding", message: `invalid UTF-8 at byte ${offset}`, offset, line, column };
}

/** Length of the longest prefix that decodes, found by halving: a streaming decoder accepts a sequence cut at its end. */
function validPrefix(bytes: Uint8Array): number {
  let good = 0;
  let bad = bytes.length;
  while (good < bad) {
    const middle = Math.ceil((good + bad) / 2);
    if (decodes(bytes.subarray(0, middle))) good = middle;
    else bad = middle - 1;
  }
  return good;
}

/** Whether bytes are UTF-8, but for a sequence that is cut off at their end. */
function decodes(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
