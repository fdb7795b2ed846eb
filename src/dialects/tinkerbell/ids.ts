import type { Instant, Random } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Shape } from "./state.ts";

/** Crockford's alphabet: digits and letters without those that are read as another. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** As many letters of the alphabet, by chance. */
const digits = (count: number, next: () => number): string =>
  Array.from({ length: count }, () => alphabet[next()] ?? "0").join("");

/** 48 bits of milliseconds and 80 of chance in base 32: released documents call actions and tasks so. */
function ulid(now: Instant, random: Random): string {
  const time = Array.from({ length: 10 }, (_, at) => alphabet[Math.floor(now / 32 ** (9 - at)) % 32] ?? "0").join("");
  return time + digits(16, () => Math.floor(random() * 32));
}

/** New ids of actions, in the form that documents of each shape have. Unique within a workflow, which is where they are looked up. */
export const newIdOf =
  (random: Random) =>
  (shape: Shape, now: Instant): string =>
    shape === "A" ? ulid(now, random) : newUid();
