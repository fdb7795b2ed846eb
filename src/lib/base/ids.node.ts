import { hash, randomInt, randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** A random RFC 9562 version 4 UUID. */
export const newUid = (): string => randomUUID();

/** Chance from the operating system. */
export const systemRandom: Random = () => randomInt(2 ** 47) / 2 ** 47;

/** Ids that one maker gives within one millisecond; further ones count as of the next. */
const perMilli = 2 ** 12;

/**
 * Makes RFC 9562 version 7 UUIDs, for `uid`s of objects: each is greater than all that were made before, also within a
 * millisecond and while the clock is set back, so that objects of one second have an order. 62 bits of each are random.
 */
export function growingUids(clock: Pick<Clock, "now">): () => string {
  let [time, count] = [0, 0];
  return () => {
    const now = clock.now();
    if (now > time) [time, count] = [now, 0];
    else if (++count === perMilli) [time, count] = [time + 1, 0];
    const start = time.toString(16).padStart(12, "0");
    // What is behind the third dash is the same in both versions.
    return `${start.slice(0, 8)}-${start.slice(8)}-7${count.toString(16).padStart(3, "0")}${randomUUID().slice(18)}`;
  };
}

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
