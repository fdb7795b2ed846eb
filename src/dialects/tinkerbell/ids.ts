import type { Instant, Random } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Shape } from "./state.ts";

/** Crockford's alphabet: digits and letters without those that are read as another. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** A whole number below 2^53 in base 32, with so many digits. */
function inBase32(value: number, digits: number): string {
  let [text, rest] = ["", value];
  for (let at = 0; at < digits; at++) {
    text = (alphabet[rest % 32] ?? "") + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** 48 bits of milliseconds and 80 of chance in base 32: released documents call actions and tasks so. */
function ulid(now: Instant, random: Random): string {
  const chance = (): string => inBase32(Math.floor(random() * 2 ** 40), 8);
  return inBase32(now, 10) + chance() + chance();
}

/** New ids of actions, in the form that documents of each shape have. Unique within a workflow, which is where they are looked up. */
export const newIdOf =
  (random: Random) =>
  (shape: Shape, now: Instant): string =>
    shape === "A" ? ulid(now, random) : newUid();
