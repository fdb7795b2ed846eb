import { hash, randomUUID } from "node:crypto";

/** A random RFC 4122 version 4 UUID: the `uid` of a new object. */
export const newUid = (): string => randomUUID();

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** The first `length` characters (at most 51) of the lower-case base32 form of SHA-256 over the parts, which cannot run into each other. */
export function hashName(parts: readonly (string | number)[], length: number): string {
  // One character per byte: hashing in one call costs a third of a hash object and its buffer.
  const digest = hash("sha256", JSON.stringify(parts), "binary");
  let text = "";
  for (let index = 0; index < length; index++) {
    const bit = index * 5;
    // Behind the last byte there is NaN, which counts as 0 here.
    const pair = (digest.charCodeAt(bit >> 3) << 8) | digest.charCodeAt((bit >> 3) + 1);
    text += alphabet[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}
