import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { Refused, refusal } from "../failure.ts";
import { asJson } from "../model/read.ts";
import type { Write } from "../store.ts";
import { update } from "./changes.ts";
import { nameOf } from "./names.ts";
import { missing, type Parts, randomText } from "./parts.ts";
import { ownerOf, readSecret, writeSecret } from "./secrets.ts";

const member = "password";
const cost = { N: 16_384, r: 8, p: 1 } as const;
const secretOf = (user: string): string => `rebar-user.${nameOf(user)}`;

/** Passwords of users, as scrypt hashes in Secrets. */
export class Passwords {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Makes the user's tokens invalid too. An empty password lets nobody in. */
  async set(user: string, password: string, write: Write): Promise<void> {
    const parts = this.#parts;
    const entry = parts.mirror.table("users").entry(user);
    if (entry === undefined) throw missing("users", user);
    if (entry.wire?.ReadOnly === true) throw new Refused(refusal(403, "", "users", user, `readonly: ${user}`));
    const salt = randomBytes(16);
    const hashed = password === "" ? Buffer.alloc(0) : Buffer.concat([salt, await hashOf(password, salt)]);
    await writeSecret(parts, secretOf(user), { [member]: hashed }, ownerOf(entry.object));
    await update(parts, "users", user, (now) => ({ ...asJson(now), Secret: randomText(parts, 16) }), write);
  }

  /** False for unknown users too. */
  async check(user: string, password: string): Promise<boolean> {
    const isUser = this.#parts.mirror.get("users", user) !== undefined;
    const stored = isUser ? await readSecret(this.#parts, secretOf(user), member) : undefined;
    // Whoever asks cannot tell by the time whether the user exists.
    const known = stored === undefined || stored.length < 48 ? undefined : stored;
    const hashed = await hashOf(password, known?.subarray(0, 16) ?? Buffer.alloc(16));
    return known !== undefined && timingSafeEqual(known.subarray(16), hashed);
  }
}

const hashOf = (password: string, salt: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password, salt, 32, cost, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
