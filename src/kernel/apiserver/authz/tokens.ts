import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/base/index.ts";
import { ApiError, tooManyRequests } from "#kernel/model/index.ts";
import type { Store } from "../store/store.ts";
import { AccountTokens } from "./account-tokens.ts";
import type { CertifiedIdentity } from "./client-certificate.ts";
import { admin, type Identity } from "./identity.ts";
import { credentialHash, findCredential } from "./credential.ts";
import type { Witness } from "../sessions/sessions.ts";
import type { ReviewedToken, TokenReviewer } from "./token-reviewer.ts";

// The store has hashes only: a copy of the data directory lets nobody in. SHA-256 without salt or stretching is enough for 256 random
// bits, which nobody can guess offline.

const adminKey = "authz/admin-token";
// In one call: each request pays for it.
const digestOf = (token: string): Buffer => hash("sha256", token, "buffer");

/** True when `token` is the stored admin token. Takes the same time whatever is wrong with it. */
export function isAdminToken(store: Pick<Store, "system">, token: string): boolean {
  const stored = store.system.get(adminKey);
  return stored !== undefined && stored.length === 32 && timingSafeEqual(stored, digestOf(token));
}

/**
 * The admin token: `known` when it is the one whose hash is stored, else a new one of 256 random bits, which replaces it. The
 * store keeps only the SHA-256, so a lost token cannot be found again, and losing the kubeconfig is mended by a restart. Durable when
 * resolved.
 */
export async function ensureAdminToken(store: Pick<Store, "system">, known?: string): Promise<string> {
  if (known !== undefined && isAdminToken(store, known)) return known;
  const token = randomBytes(32).toString("base64url");
  await store.system.put(adminKey, digestOf(token));
  return token;
}

// Per address and second; the table is cleared when it grows, which only forgives. On loopback all clients share an address: the right
// token passes whatever others have tried.
const maxFailures = 10;
const maxAddresses = 1000;

/**
 * Turns credentials into identities and slows down guessing. One for all listeners of a server. Asked in this order: the client
 * certificate, the admin token, other static tokens, tokens of accounts.
 */
export class Authenticator implements TokenReviewer {
  readonly #store: Pick<Store, "system" | "get">;
  readonly #clock: Clock;
  readonly #failures = new Map<string, { second: number; count: number }>();
  /** Makes tokens, too. */
  readonly accounts: AccountTokens;

  /** `accountKey` signs the tokens of accounts (PEM); one that lasts as long as this object when absent. */
  constructor(store: Pick<Store, "system" | "get">, clock: Clock, accountKey?: string) {
    this.#store = store;
    this.#clock = clock;
    this.accounts = new AccountTokens(store, clock, accountKey);
  }

  /**
   * The caller, or a refusal: 401 without valid credentials, 429 after too many wrong ones in the same second. `address` is that of the
   * connection; a header that names another is not believed. `certified` is whom the connection's certificate names.
   */
  authenticate(header: string | undefined, address: string, certified?: CertifiedIdentity): Identity {
    const known = certified === undefined ? undefined : this.#identifyCertified(certified);
    if (known !== undefined) return known;
    if (header === undefined) throw unauthorized();
    const token = bearerIn(header);
    const found = token === undefined ? undefined : this.#identify(token);
    if (found !== undefined) return found;
    throw this.refusal(address);
  }

  /**
   * How the caller of `authenticate` is found again later, without keeping what he has shown: undefined once his token or certificate
   * is taken back. Accounts have none, because their tokens end by themselves.
   */
  witness(header: string | undefined, certified?: CertifiedIdentity): Witness | undefined {
    if (certified !== undefined && this.#identifyCertified(certified) !== undefined) {
      return () => (this.#clock.now() < certified.until ? this.#identifyCertified(certified) : undefined);
    }
    const token = bearerIn(header ?? "");
    if (token === undefined) return undefined;
    // It is replaced at a start only.
    if (isAdminToken(this.#store, token)) return () => admin;
    const hash = credentialHash(token);
    const find = () => findCredential(this.#store, "Token", hash, this.#clock.now());
    return find() === undefined ? undefined : find;
  }

  /** As `witness`, but of accounts too: for what lasts longer than a request and must not outlive what it was asked with. */
  proof(header: string | undefined, certified?: CertifiedIdentity): Witness {
    const known = this.witness(header, certified) ?? this.accounts.witness(bearerIn(header ?? "") ?? "");
    return known ?? (() => undefined);
  }

  /** What somebody is told who has shown something wrong: 401, or 429 after too many of them in the same second. Counts him. */
  refusal(address: string): ApiError {
    const second = Math.floor(this.#clock.now() / 1000);
    const before = this.#failures.get(address);
    const count = before?.second === second ? before.count + 1 : 1;
    if (this.#failures.size >= maxAddresses) this.#failures.clear();
    this.#failures.set(address, { second, count });
    return count > maxFailures ? tooManyRequests("failed attempts to authenticate") : unauthorized();
  }

  /** Static tokens are for this server alone, so they are good for no audience that is named. */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined {
    if (audiences.length === 0) {
      const identity = this.#identifyStatic(token);
      if (identity !== undefined) return { identity, audiences: [] };
    }
    return this.accounts.review(token, audiences);
  }

  /** A certificate that can be taken back counts while its credential is there. */
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

/** The same for whatever was wrong: a hint would help only who guesses. */
const unauthorized = () => new ApiError("Unauthorized", "Unauthorized");
