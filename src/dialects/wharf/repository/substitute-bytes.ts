import { isFailure, type Substituter } from "../variables/substitute.ts";
import { repositoryError } from "./errors.ts";

const looksAt = 8 * 1024;

export const mostOverlayBytes = 64 * 1024 * 1024;

/**
 * Substitutes variables bytewise. Files with a zero byte at the beginning are binary and unchanged. Throws
 * `overlay-variables`.
 */
export function substituteBytes(bytes: Buffer, substituter: Substituter, called: string): Buffer {
  if (bytes.subarray(0, looksAt).includes(0)) return bytes;
  const parts: Buffer[] = [];
  let length = 0;
  let end = 0;
  // latin1: positions in the text are positions in the bytes.
  for (const { 0: whole, index } of bytes.toString("latin1").matchAll(/\$\{[^}]*\}/g)) {
    const reference = bytes.subarray(index, index + whole.length);
    const written = reference.toString("utf8");
    const result = substituter.substitute(written);
    if (isFailure(result)) throw repositoryError("overlay-variables", `${called}: ${result.message}`);
    const { text } = result.scalar;
    // Unchanged references stay as bytes.
    parts.push(bytes.subarray(end, index), text === written ? reference : Buffer.from(text));
    length += index - end + text.length;
    if (length > mostOverlayBytes)
      throw repositoryError("overlay-variables", `${called}: variables make it larger than 64 MiB`);
    end = index + whole.length;
  }
  return Buffer.concat([...parts, bytes.subarray(end)]);
}
