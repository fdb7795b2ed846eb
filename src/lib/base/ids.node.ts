import { createHash, randomUUID } from "node:crypto";

/** A random RFC 4122 version 4 UUID: the `uid` of a new object. */
export const newUid = (): string => randomUUID();

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** The first `length` characters (at most 51) of the lower-case base32 form of SHA-256 over the parts, which cannot run into each other. */
export function hashName(parts: readonly (string | number)[], length: number): string {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest();
  let text = "";
  for (let index = 0; index < length; index++) {
    const bit = index * 5;
    const pair = ((digest[bit >> 3] ?? 0) << 8) | (digest[(bit >> 3) + 1] ?? 0);
    text += alphabet[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}
