import type { Instant, Random } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Shape } from "./state.ts";

/** Crockford's base 32. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

function inBase32(value: number, digits: number): string {
  let [text, rest] = ["", value];
  for (let at = 0; at < digits; at++) {
    text = (alphabet[rest % 32] ?? "") + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** A ULID: 48 bits of time and 80 random bits. Released documents use it for actions and tasks. */
function ulid(now: Instant, random: Random): string {
  const chance = (): string => inBase32(Math.floor(random() * 2 ** 40), 8);
  return inBase32(now, 10) + chance() + chance();
}

/** New ids of actions, in the form of each shape. Unique within a workflow. */
export const newIdOf =
  (random: Random) =>
  (shape: Shape, now: Instant): string =>
    shape === "A" ? ulid(now, random) : newUid();
