import type { IncomingMessage } from "node:http";
import type { Clock, Instant } from "#lib/base/index.ts";
import type { Accounts } from "../accounts.ts";
import { refusal, Refused } from "../failure.ts";
import type { Claim } from "../objects.ts";
import type { Principal, World } from "../world.ts";
import { allows, createOnlyClaims, machineClaims, ownClaims, profileClaims } from "../model/claims.ts";
import { Passwords } from "./passwords.ts";
import { openToken, secretsOf, type TokenSubject } from "./tokens.ts";

/** Who asks, and what they may do now. */
export interface Caller {
  readonly principal: Principal;
  /** What the caller's token speaks for; of a password: its user. */
  readonly subject: TokenSubject;
  may(scope: string, action: string, specific: string): boolean;
  /** False once the credentials were revoked. Expiry does not count: open event streams outlive their token. */
  isValid(): boolean;
}

/** Without any credentials: 401 and nothing else. */
export const unknownCaller = "unknown";

const mostTokens = 2000;

interface KnownToken {
  readonly caller: Caller;
  readonly expires: Instant;
  readonly key: Uint8Array;
}

export interface CallerParts {
  readonly world: World;
  readonly accounts: Accounts;
  readonly clock: Clock;
}

export class Callers {
  readonly #parts: CallerParts;
  readonly #passwords: Passwords;

  /** Signatures that were checked. */
  readonly #byTokenText = new Map<string, KnownToken>();

  constructor(parts: CallerParts) {
    this.#parts = parts;
    this.#passwords = new Passwords(parts.accounts, parts.clock);
  }

  /** Throws 403 for wrong credentials. */
  identify(
    request: IncomingMessage,
    query: URLSearchParams,
  ): Caller | typeof unknownCaller | Promise<Caller | typeof unknownCaller> {
    const header = request.headers.authorization;
    const [, scheme = "", rest = ""] = /^(Bearer|Basic) +(\S+) *$/i.exec(header ?? "") ?? [];
    if (scheme.toLowerCase() === "bearer") return this.#byToken(rest);
    const address = request.socket.remoteAddress ?? "";
    if (scheme !== "") return this.#byPair(Buffer.from(rest, "base64").toString("utf8"), address);
    const given = header === undefined ? (query.get("token") ?? "") : "";
    if (given === "") return unknownCaller;
    return given.includes(":") ? this.#byPair(given, address) : this.#byToken(given);
  }

  /** A caller with the rights of a subject; undefined if it is gone. */
  callerOf(subject: TokenSubject): Caller | undefined {
    const { world } = this.#parts;
    const secrets = secretsOf(world, subject);
    if (secrets === undefined) return undefined;
    return {
      principal: principalOf(subject),
      subject,
      may: this.#mayOf(subject),
      isValid: () => secretsOf(world, subject)?.every((secret, index) => secret === secrets[index]) === true,
    };
  }

  #byToken(token: string): Caller {
    const { world, accounts, clock } = this.#parts;
    const known = this.#byTokenText.get(token);
    if (known !== undefined && known.expires > clock.now() && known.key === accounts.tokenKey)
      if (known.caller.isValid()) return known.caller;
    this.#byTokenText.delete(token);
    const opened = openToken(accounts.tokenKey, world, token, clock.now());
    const caller = opened && this.callerOf(opened.subject);
    if (opened === undefined || caller === undefined) throw new Refused(refusal(403, "AUTH", "", "", "Invalid token"));
    this.#byTokenText.set(token, { caller, expires: opened.expires, key: accounts.tokenKey });
    const [oldest] = this.#byTokenText.keys();
    if (this.#byTokenText.size > mostTokens && oldest !== undefined) this.#byTokenText.delete(oldest);
    return caller;
  }

  #byPair(pair: string, address: string): Caller | typeof unknownCaller | Promise<Caller | typeof unknownCaller> {
    const colon = pair.indexOf(":");
    if (colon < 1) return unknownCaller;
    const user = pair.slice(0, colon);
    const answer = this.#passwords.check(this.#parts.world, user, pair.slice(colon + 1), address);
    const judge = (judged: Awaited<typeof answer>): Caller => {
      if (judged === "busy")
        throw new Refused(refusal(429, "AUTH", "users", "", "Too many password checks are waiting; try again later"));
      const caller = judged === "right" ? this.callerOf({ kind: "user", name: user }) : undefined;
      if (caller === undefined) throw new Refused(refusal(403, "AUTH", "users", "", "Access Denied"));
      return caller;
    };
    return typeof answer === "string" ? judge(answer) : answer.then(judge);
  }

  #mayOf(subject: TokenSubject): Caller["may"] {
    switch (subject.kind) {
      case "user":
        return this.#userMay(subject.name, subject.roles);
      case "machine":
        return allowing(machineClaims(subject.machine));
      case "job":
        return this.#jobMay(subject.machine, subject.job);
      case "profile":
        return allowing(profileClaims(subject.profile));
      case "create":
        return allowing(createOnlyClaims);
    }
  }

  /** Looks the roles up with every question: event streams stay open while roles change. */
  #userMay(name: string, only: readonly string[] | undefined): Caller["may"] {
    const { world } = this.#parts;
    const own = ownClaims(name, only === undefined);
    return (scope, action, specific) => {
      const roles = world.get("users", name)?.Roles ?? [];
      for (const role of roles)
        if ((only === undefined || only.includes(role)) && this.#roleAllows(role, scope, action, specific)) return true;
      return allows(own, scope, action, specific);
    };
  }

  #jobMay(machine: string, job: string): Caller["may"] {
    const { world } = this.#parts;
    const own = machineClaims(machine);
    const task = world.get("tasks", world.get("jobs", job)?.Task ?? "");
    const extra = task?.ExtraClaims ?? [];
    return (scope, action, specific) =>
      allows(own, scope, action, specific) ||
      allows(extra, scope, action, specific) ||
      (task?.ExtraRoles ?? []).some((role) => this.#roleAllows(role, scope, action, specific));
  }

  #roleAllows(name: string, scope: string, action: string, specific: string): boolean {
    const role = this.#parts.world.get("roles", name);
    return role !== undefined && allows(role.Claims, scope, action, specific);
  }
}

const allowing =
  (claims: readonly Claim[]): Caller["may"] =>
  (scope, action, specific) =>
    allows(claims, scope, action, specific);

function principalOf(subject: TokenSubject): Principal {
  switch (subject.kind) {
    case "user":
      return { kind: "user", name: subject.name };
    case "machine":
    case "job":
      return { kind: "runner", machine: subject.machine };
    case "profile":
      return { kind: "user", name: `profile:${subject.profile}` };
    case "create":
      return { kind: "user", name: "create" };
  }
}
