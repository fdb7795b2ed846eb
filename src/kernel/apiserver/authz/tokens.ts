import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/base/index.ts";
import { ApiError, tooManyRequests } from "#kernel/model/index.ts";
import type { Store } from "../store/store.ts";
import { AccountTokens } from "./account-tokens.ts";
import type { CertifiedIdentity } from "./client-certificate.ts";
import { admin, type Identity, type ReviewedToken, type TokenReviewer } from "./identity.ts";
import { credentialHash, findCredential } from "./credential.ts";
import type { Witness } from "../sessions/sessions.ts";

// Only hashes are stored. SHA-256 without salt or stretching is enough for 256 random bits.

const adminKey = "authz/admin-token";
const digestOf = (token: string): Buffer => hash("sha256", token, "buffer");

/** Constant time. */
export function isAdminToken(store: Pick<Store, "system">, token: string): boolean {
  const stored = store.system.get(adminKey);
  return stored !== undefined && stored.length === 32 && timingSafeEqual(stored, digestOf(token));
}

/** Returns `known` if it is the stored token, else a new one that replaces it. Durable when resolved. */
export async function ensureAdminToken(store: Pick<Store, "system">, known?: string): Promise<string> {
  if (known !== undefined && isAdminToken(store, known)) return known;
  const token = randomBytes(32).toString("base64url");
  await store.system.put(adminKey, digestOf(token));
  return token;
}

// Per address and second. Clearing the table only forgives.
const maxFailures = 10;
const maxAddresses = 1000;

/** Checks the client certificate, the admin token, credentials, then account tokens; slows down guessing. */
export class Authenticator implements TokenReviewer {
  readonly #store: Pick<Store, "system" | "get">;
  readonly #clock: Clock;
  readonly #failures = new Map<string, { second: number; count: number }>();
  readonly accounts: AccountTokens;

  /** `accountKey` (PEM) signs account tokens; by default a temporary one. */
  constructor(store: Pick<Store, "system" | "get">, clock: Clock, accountKey?: string) {
    this.#store = store;
    this.#clock = clock;
    this.accounts = new AccountTokens(store, clock, accountKey);
  }

  /** 401, or 429 after too many attempts in a second. `address` is the connection's, not from headers. */
  authenticate(header: string | undefined, address: string, certified?: CertifiedIdentity): Identity {
    const known = certified === undefined ? undefined : this.#identifyCertified(certified);
    if (known !== undefined) return known;
    if (header === undefined) throw unauthorized();
    const token = bearerIn(header);
    const found = token === undefined ? undefined : this.#identify(token);
    if (found !== undefined) return found;
    throw this.refusal(address);
  }

  /** Identifies the caller again without keeping the secret: undefined once revoked and for accounts. */
  witness(header: string | undefined, certified?: CertifiedIdentity): Witness | undefined {
    if (certified !== undefined && this.#identifyCertified(certified) !== undefined) {
      return () => (this.#clock.now() < certified.until ? this.#identifyCertified(certified) : undefined);
    }
    const token = bearerIn(header ?? "");
    if (token === undefined) return undefined;
    // Replaced at a start only.
    if (isAdminToken(this.#store, token)) return () => admin;
    const hash = credentialHash(token);
    const find = () => findCredential(this.#store, "Token", hash, this.#clock.now());
    return find() === undefined ? undefined : find;
  }

  /** Like `witness`, but for accounts too: for requests that must not outlive their credential. */
  proof(header: string | undefined, certified?: CertifiedIdentity): Witness {
    const known = this.witness(header, certified) ?? this.accounts.witness(bearerIn(header ?? "") ?? "");
    return known ?? (() => undefined);
  }

  /** The answer to a wrong credential: 401, or 429 after too many. Counts it. */
  refusal(address: string): ApiError {
    const second = Math.floor(this.#clock.now() / 1000);
    const before = this.#failures.get(address);
    const count = before?.second === second ? before.count + 1 : 1;
    if (this.#failures.size >= maxAddresses) this.#failures.clear();
    this.#failures.set(address, { second, count });
    return count > maxFailures ? tooManyRequests("failed attempts to authenticate") : unauthorized();
  }

  /** Static tokens are valid for no named audience. */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined {
    if (audiences.length === 0) {
      const identity = this.#identifyStatic(token);
      if (identity !== undefined) return { identity, audiences: [] };
    }
    return this.accounts.review(token, audiences);
  }

  /** A revocable certificate is valid while its credential exists. */
  #identifyCertified({ identity, revocable }: CertifiedIdentity): Identity | undefined {
    return revocable === undefined
      ? identity
      : findCredential(this.#store, "ClientCertificate", revocable, this.#clock.now());
  }

  #identify(token: string): Identity | undefined {
    return this.#identifyStatic(token) ?? this.accounts.review(token, [])?.identity;
  }

  #identifyStatic(token: string): Identity | undefined {
    return isAdminToken(this.#store, token)
      ? admin
      : findCredential(this.#store, "Token", credentialHash(token), this.#clock.now());
  }
}

const bearerIn = (header: string): string | undefined => /^Bearer ([\w~+/.=-]{1,4096})$/i.exec(header)?.[1];

/** The same for every reason: a hint would help attackers. */
const unauthorized = () => new ApiError("Unauthorized", "Unauthorized");
