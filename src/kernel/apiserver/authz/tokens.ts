import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/base/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import type { Store } from "../store/store.ts";
import { tooManyRequests } from "../verbs/refusals.ts";
import { admin, type Identity } from "./identity.ts";

const adminKey = "authz/admin-token";
const digestOf = (token: string): Buffer => createHash("sha256").update(token).digest();

/** True when `token` is the stored admin token. Takes the same time whatever is wrong with it. */
export function isAdminToken(store: Pick<Store, "system">, token: string): boolean {
  const stored = store.system.get(adminKey);
  return stored !== undefined && stored.length === 32 && timingSafeEqual(stored, digestOf(token));
}

/**
 * The admin token: `known` when it is the one whose hash is stored, else a new one of 256 random bits, which replaces it. The
 * store keeps only the SHA-256, so a lost token cannot be found again.
 */
export async function ensureAdminToken(store: Pick<Store, "system">, known?: string): Promise<string> {
  if (known !== undefined && isAdminToken(store, known)) return known;
  const token = randomBytes(32).toString("base64url");
  await store.system.put(adminKey, digestOf(token));
  return token;
}

// Per address and second; the table is cleared when it grows, which only forgives.
const maxFailures = 10;
const maxAddresses = 1000;

/** Turns `Authorization` headers into identities and slows down guessing. */
export class Authenticator {
  readonly #store: Pick<Store, "system">;
  readonly #clock: Clock;
  readonly #failures = new Map<string, { second: number; count: number }>();

  constructor(store: Pick<Store, "system">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The caller, or a refusal: 401 without valid credentials, 429 after too many wrong ones. */
  authenticate(header: string | undefined, address: string): Identity {
    if (header === undefined) throw unauthorized();
    const token = /^Bearer ([\w~+/.=-]{1,4096})$/i.exec(header)?.[1];
    if (token !== undefined && isAdminToken(this.#store, token)) return admin;
    this.#countFailure(address);
    throw unauthorized();
  }

  #countFailure(address: string): void {
    const second = Math.floor(this.#clock.now() / 1000);
    const before = this.#failures.get(address);
    const count = before?.second === second ? before.count + 1 : 1;
    if (this.#failures.size >= maxAddresses) this.#failures.clear();
    this.#failures.set(address, { second, count });
    if (count > maxFailures) throw tooManyRequests("failed attempts to authenticate");
  }
}

const unauthorized = () => new ApiError("Unauthorized", "Unauthorized");
