import { constants } from "node:fs";
import { open, rename, rm, writeFile } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";
import { Masker } from "#kernel/logs/index.ts";

/** A task can replace its file by anything. A pipe must not be waited for, nor a link be followed with our rights. */
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const isNone = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "EACCES", "ENXIO"]);

/** The first bytes of a file that a task has written, at most so many; undefined for whatever it has made of it instead. */
export async function readLastWord(path: string, maxBytes: number): Promise<Buffer | undefined> {
  try {
    const handle = await open(path, reading);
    try {
      if (!(await handle.stat()).isFile()) return undefined;
      const bytes = Buffer.alloc(maxBytes);
      const { bytesRead } = await handle.read(bytes, 0, maxBytes, 0);
      return bytes.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (thrown) {
    if (isNone.has(codeOf(thrown) ?? "")) return undefined;
    throw thrown;
  }
}

/** Bytes of a last word that are kept. */
export const keptLastWord = 32 * 1024;
/** More of it is read by nobody: a whole character more than is kept, by which its reader sees that there was more. */
export const longestLastWord = keptLastWord + 4;

/** Where a task writes what is at `Task.message` when it has ended. */
export const unmaskedWord = (message: string): string => `${message}.raw`;

/** A text in JSON with a character that could have been written as it is. */
const escapedText = /"(?:[^"\\]|\\.)*"/g;
const hasEscape = /\\[u/]/;

/**
 * Outputs may be JSON, whose reader gets a value back from whatever escapes its writer has used: there are too many to look for each. Texts
 * with such escapes are looked at as they will be read. All else stays byte for byte.
 */
function withoutEscaped(bytes: Buffer, masker: Masker): Buffer {
  const text = bytes.toString();
  if (!hasEscape.test(text) || !isJson(text)) return bytes;
  const shown = text.replace(escapedText, (literal) => {
    if (!hasEscape.test(literal)) return literal;
    const plain = String(JSON.parse(literal));
    const masked = Buffer.concat([masker.take(Buffer.from(plain)), masker.end()]).toString();
    return masked === plain ? literal : JSON.stringify(masked);
  });
  return Buffer.from(shown);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Puts the last word of a task that has ended where it may be read: without these values. What is too long is as long as before,
 * so that its end does not look like one. The file with the values goes; without it nothing is done, as this may be called again after
 * a crash. Answers what has kept it from being done, for people.
 */
export async function maskLastWord(message: string, values: readonly string[]): Promise<string | undefined> {
  const raw = unmaskedWord(message);
  try {
    const bytes = await readLastWord(raw, longestLastWord);
    if (bytes === undefined) return undefined;
    const masker = new Masker(values);
    const isCut = bytes.length === longestLastWord;
    const shown = masker.take(isCut ? bytes : withoutEscaped(bytes, masker));
    const rest = isCut ? Buffer.alloc(Math.max(0, longestLastWord - shown.length), "*") : masker.end();
    const partial = `${message}.partial`;
    await rm(partial, { force: true });
    // Exclusive, so that nothing is written through a link.
    await writeFile(partial, Buffer.concat([shown, rest]), { mode: 0o600, flag: "wx" });
    await rename(partial, message);
    await rm(raw, { force: true });
    return undefined;
  } catch (thrown) {
    // Nothing of it is shown then. The sentence names no path and no content.
    return `its last word is left out: ${codeOf(thrown) ?? "it cannot be written"}`;
  }
}
