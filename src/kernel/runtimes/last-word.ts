import { replaceFile } from "#lib/base/index.node.ts";
import { constants } from "node:fs";
import { open, rm } from "node:fs/promises";
import { codeOf } from "#lib/base/index.ts";
import { Masker } from "#kernel/streams/index.ts";

/** A task may have replaced its file: pipes must not be waited for, nor links be followed with our rights. */
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const isNone = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "EACCES", "ENXIO"]);

/** The first bytes of a task's file; undefined if it is not a file. */
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
/** One more character, by which the reader detects a longer text. */
export const longestLastWord = keptLastWord + 4;

/** Where a task writes before its last word is masked. */
export const unmaskedWord = (message: string): string => `${message}.raw`;
const escapedText = /"(?:[^"\\]|\\.)*"/g;
const hasEscape = /\\[u/]/;

/** JSON has too many escapes of a value to search for: texts with escapes are compared unescaped, else unchanged. */
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
 * Publishes the masked last word of an ended task and removes the unmasked file; does nothing without that, and may be
 * repeated after a crash. A text that is too long keeps its length. Returns why it could not, for people.
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
    const draft = `${message}.partial`;
    await replaceFile(message, Buffer.concat([shown, rest]), { draft, isDurable: false });
    await rm(raw, { force: true });
    return undefined;
  } catch (thrown) {
    // Names no path and no content.
    return `its last word is left out: ${codeOf(thrown) ?? "it cannot be written"}`;
  }
}
