import { hash } from "node:crypto";
import type { Collection } from "../objects.ts";
import { labelValueRule, subdomainRule } from "#kernel/model/index.ts";

// Names of Kubernetes objects by key. Keys are any text; the key in the spec counts.

const longest = 200;
/** Prefixes of encoded names, and of objects of bundles. */
const reserved = /^(?:[xh]-|r\d+\.)/;
const base32hex = "0123456789abcdefghijklmnopqrstuv";

/** The key itself if it can be a name; else encoded, or hashed if that is too long. */
export function nameOf(key: string): string {
  if (key.length <= longest && subdomainRule(key) === undefined && !reserved.test(key)) return key;
  const encoded = `x-${base32(Buffer.from(key))}`;
  return encoded.length <= longest ? encoded : `h-${hash("sha256", key, "hex")}`;
}

/** The UUID of a machine whose Kubernetes object has a name for people. */
export function uuidOf(name: string): string {
  const digits = hash("sha256", `machine/${name}`, "hex");
  // Version 8: made by a rule of one's own (RFC 9562).
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, `8${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20, 32)].join("-");
}

/** Whether an object with this key may have this name. */
export const mayBeNamed = (collection: Collection, key: string, name: string): boolean =>
  nameOf(key) === name || (collection === "machines" && uuidOf(name) === key);

/** Objects of two revisions of a bundle exist side by side. */
export const nameInRevision = (key: string, revision: number): string => `r${revision}.${nameOf(key)}`;

/** For people who select by label. */
export const labelOf = (text: string): string =>
  labelValueRule(text) === undefined ? text : hash("sha256", text, "hex").slice(0, 40);

function base32(bytes: Uint8Array): string {
  let [out, buffer, bits] = ["", 0, 0];
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) out += base32hex[(buffer >> (bits - 5)) & 31];
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? out : out + base32hex[(buffer << (5 - bits)) & 31];
}
