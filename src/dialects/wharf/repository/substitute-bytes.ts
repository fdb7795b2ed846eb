import { isFailure, type Substituter } from "../variables/substitute.ts";
import { repositoryError } from "./errors.ts";

/** As far as a file is looked at to tell whether it is a text. */
const looksAt = 8 * 1024;

/** Of a file of a step, before and after its variables. */
export const mostOverlayBytes = 64 * 1024 * 1024;

/**
 * A file with its variables. Everything else is kept byte for byte, be it UTF-8 or not: line ends, a missing last one, a byte order mark. A file
 * with a zero byte at its beginning is no text and stays as it is. Throws `overlay-variables`, in which the file is called as told.
 */
export function substituteBytes(bytes: Buffer, substituter: Substituter, called: string): Buffer {
  if (bytes.subarray(0, looksAt).includes(0)) return bytes;
  const parts: Buffer[] = [];
  let length = 0;
  let end = 0;
  // One character a byte, so that places in the text are places in the bytes.
  for (const { 0: whole, index } of bytes.toString("latin1").matchAll(/\$\{[^}]*\}/g)) {
    const reference = bytes.subarray(index, index + whole.length);
    const written = reference.toString("utf8");
    const result = substituter.substitute(written);
    if (isFailure(result)) throw repositoryError("overlay-variables", `${called}: ${result.message}`);
    const { text } = result.scalar;
    // What is left as it is, is left as bytes: it need not be UTF-8.
    parts.push(bytes.subarray(end, index), text === written ? reference : Buffer.from(text));
    length += index - end + text.length;
    if (length > mostOverlayBytes)
      throw repositoryError("overlay-variables", `${called}: variables make it larger than 64 MiB`);
    end = index + whole.length;
  }
  return Buffer.concat([...parts, bytes.subarray(end)]);
}
