import { createHmac, randomBytes } from "node:crypto";
import { type Clock, type Instant, type Millis, serializer } from "#lib/base/index.ts";
import type { Accounts } from "../accounts.ts";
import type { World } from "../world.ts";

/** `busy`: too many checks are waiting. */
export type PasswordAnswer = "right" | "wrong" | "busy";

const rememberMs: Millis = 300_000;
const mostRemembered = 1000;
const mostWaiting = 64;
const mostWaitingOfAddress = 16;

interface Remembered {
  readonly until: Instant;
  /** The user's `Secret`, which changes with the password. */
  readonly secret: string;
}

/**
 * Password checks are slow on purpose. One runs at a time, which bounds guessing, and those that succeeded are
 * remembered by a keyed digest for five minutes, so that clients may send the password with every request.
 */
export class Passwords {
  readonly #accounts: Accounts;
  readonly #clock: Clock;
  readonly #key = randomBytes(32);
  readonly #remembered = new Map<string, Remembered>();
  /** Checks by credential: equal ones that come together are one. */
  readonly #running = new Map<string, Promise<PasswordAnswer>>();
  readonly #waitingByAddress = new Map<string, number>();
  readonly #inTurn = serializer();

  constructor(accounts: Accounts, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  check(world: World, user: string, password: string, address: string): PasswordAnswer | Promise<PasswordAnswer> {
    const digest = createHmac("sha256", this.#key)
      .update(JSON.stringify([user, password]))
      .digest("base64");
    const remembered = this.#remembered.get(digest);
    if (remembered !== undefined && remembered.until > this.#clock.now())
      if (world.get("users", user)?.Secret === remembered.secret) return "right";
    return this.#running.get(digest) ?? this.#start(world, user, password, address, digest);
  }

  #start(
    world: World,
    user: string,
    password: string,
    address: string,
    digest: string,
  ): PasswordAnswer | Promise<PasswordAnswer> {
    const ofAddress = this.#waitingByAddress.get(address) ?? 0;
    if (this.#running.size >= mostWaiting || ofAddress >= mostWaitingOfAddress) return "busy";
    this.#waitingByAddress.set(address, ofAddress + 1);
    const running = this.#inTurn(() => this.#verify(world, user, password, digest)).finally(() => {
      this.#running.delete(digest);
      const left = (this.#waitingByAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#waitingByAddress.delete(address);
      else this.#waitingByAddress.set(address, left);
    });
    this.#running.set(digest, running);
    return running;
  }

  async #verify(world: World, user: string, password: string, digest: string): Promise<PasswordAnswer> {
    const secret = world.get("users", user)?.Secret;
    const isRight = await this.#accounts.passwords.check(user, password);
    if (!isRight || secret === undefined || world.get("users", user)?.Secret !== secret) return "wrong";
    this.#remembered.delete(digest);
    this.#remembered.set(digest, { until: this.#clock.now() + rememberMs, secret });
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > mostRemembered && oldest !== undefined) this.#remembered.delete(oldest);
    return "right";
  }
}
