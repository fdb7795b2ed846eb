import { hash, randomInt, randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** A random RFC 9562 version 4 UUID. */
export const newUid = (): string => randomUUID();
export const systemRandom: Random = () => randomInt(2 ** 47) / 2 ** 47;

/** Ids per millisecond; further ones count as of the next. */
const perMilli = 2 ** 12;

/** UUIDs of version 7 (RFC 9562): each greater than all before, even if the clock is set back. 62 random bits. */
export function growingUids(clock: Pick<Clock, "now">): () => string {
  let [time, count] = [0, 0];
  return () => {
    const now = clock.now();
    if (now > time) [time, count] = [now, 0];
    else if (++count === perMilli) [time, count] = [time + 1, 0];
    const start = time.toString(16).padStart(12, "0");
    // Versions 4 and 7 are alike after the third dash.
    return `${start.slice(0, 8)}-${start.slice(8)}-7${count.toString(16).padStart(3, "0")}${randomUUID().slice(18)}`;
  };
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** The first `length` characters (at most 51) of the lower-case base32 SHA-256 of the parts, which are kept apart. */
export function hashName(parts: readonly (string | number)[], length: number): string {
  // One character per byte: hashing in one call costs a third of a hash object with its buffer.
  const digest = hash("sha256", JSON.stringify(parts), "binary");
  let text = "";
  for (let index = 0; index < length; index++) {
    const bit = index * 5;
    // Past the last byte is NaN, which counts as 0.
    const pair = (digest.charCodeAt(bit >> 3) << 8) | digest.charCodeAt((bit >> 3) + 1);
    text += alphabet[(pair >> (11 - (bit & 7))) & 31];
  }
  return text;
}
