import { createHash } from "node:crypto";
import type { JsonValue } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";

/** The first 16 hexadecimal digits of SHA-256 over canonical JSON. */
export const jsonHash = (value: JsonValue): string =>
  createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 16);

/** FNV-1a over UTF-8, 32 bits. */
export function fnv32(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

// Letters and digits without vowels, so that no words appear.
const safe = "bcdfghjklmnpqrstvwxz2456789";

/** Ten characters that any name may contain. */
export const shortHash = (text: string): string =>
  String(fnv32(text))
    .padStart(10, "0")
    .replace(/./g, (digit) => safe[digit.charCodeAt(0) % safe.length] ?? "");
