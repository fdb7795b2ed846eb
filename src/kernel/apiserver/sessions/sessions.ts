import { createHash, randomBytes } from "node:crypto";
import type { Clock, Instant, Millis } from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";

// Browser sessions, in memory only: they end with the server. Codes, secrets and keys are 256 random bits, kept as
// SHA-256.
//
// A session takes two of them: browsers send cookies to every port of a host, so that any other program on this machine
// whose page the user opens gets the secret. The key is kept by the page, whose storage no other port can read.

/** Identifies somebody again; undefined once revoked. */
export type Witness = () => Identity | undefined;

export interface Session {
  readonly identity: Identity;
  readonly until: Instant;
}

const codeMs: Millis = 5 * 60_000;
const sessionMs: Millis = 12 * 3_600_000;

interface Bound {
  readonly each: number;
  readonly all: number;
}
const mostCodes: Bound = { each: 10, all: 100 };
const mostSessions: Bound = { each: 50, all: 1000 };

interface Held {
  readonly user: string;
  readonly witness: Witness;
  readonly until: Instant;
  /** Hash of the key of a session. */
  readonly key?: string;
}

/** What a browser keeps of a session: the secret as a cookie, the key in the storage of the page. */
export interface SessionProof {
  readonly secret: string;
  readonly key: string;
}

/** A user's oldest is dropped for newer ones; the oldest of all only with very many users. */
export class Sessions {
  readonly #clock: Clock;
  readonly #codes = new Map<string, Held>();
  readonly #sessions = new Map<string, Held>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A code that works once, for five minutes. */
  issueCode(witness: Witness): { readonly code: string; readonly until: Instant } {
    const until = this.#clock.now() + codeMs;
    const user = witness()?.user ?? "";
    return { code: keep(this.#codes, mostCodes, { user, witness, until }), until };
  }

  /** Whom a code would log in; undefined for an invalid, used or expired code or a revoked user. */
  ownerOf(code: string): Identity | undefined {
    return this.#judge(this.#codes.get(hashOf(code)))?.identity;
  }

  /** A new session of twelve hours; undefined for an invalid, used or expired code or a revoked user. */
  redeem(code: string): (Session & SessionProof) | undefined {
    const held = this.#codes.get(hashOf(code));
    this.#codes.delete(hashOf(code));
    const session = this.#judge(held);
    if (held === undefined || session === undefined) return undefined;
    const until = this.#clock.now() + sessionMs;
    const key = randomBytes(32).toString("base64url");
    const secret = keep(this.#sessions, mostSessions, { ...held, until, key: hashOf(key) });
    return { identity: session.identity, until, secret, key };
  }

  /** The session, while its credential is valid. */
  find({ secret, key }: SessionProof): Session | undefined {
    const held = this.#sessions.get(hashOf(secret));
    // Whoever has the cookie alone ends nothing either.
    if (held?.key !== hashOf(key)) return undefined;
    const session = this.#judge(held);
    if (session === undefined) this.#sessions.delete(hashOf(secret));
    return session;
  }

  /** Returns whether there was such a session. */
  end(proof: SessionProof): boolean {
    return this.find(proof) !== undefined && this.#sessions.delete(hashOf(proof.secret));
  }

  #judge(held: Held | undefined): Session | undefined {
    if (held === undefined || this.#clock.now() >= held.until) return undefined;
    const identity = held.witness();
    return identity === undefined ? undefined : { identity, until: held.until };
  }
}

const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("base64");

/** Returns the new secret. Maps keep their order, so the first is the oldest. */
function keep(all: Map<string, Held>, most: Bound, held: Held): string {
  const secret = randomBytes(32).toString("base64url");
  all.set(hashOf(secret), held);
  const own = Array.from(all).filter(([, { user }]) => user === held.user);
  if (own.length > most.each) all.delete(own[0]?.[0] ?? "");
  const [oldest] = all.keys();
  if (all.size > most.all && oldest !== undefined) all.delete(oldest);
  return secret;
}
