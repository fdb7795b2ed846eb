import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock, Instant } from "#lib/base/index.ts";
import type { Accounts } from "../accounts.ts";
import type { RenderPlace } from "../render.ts";
import type { World } from "../world.ts";

/** Whom a token speaks for. `by` is the user who asked for it: changing that user's secret revokes it, too. */
export type TokenSubject = { readonly by?: string } & (
  | { readonly kind: "user"; readonly name: string; readonly roles?: readonly string[] }
  | { readonly kind: "machine"; readonly machine: string }
  /** Valid until the job ends; with the extra claims of its task. */
  | { readonly kind: "job"; readonly machine: string; readonly job: string }
  | { readonly kind: "profile"; readonly profile: string }
  /** May only create machines. */
  | { readonly kind: "create" }
);

export interface OpenedToken {
  readonly subject: TokenSubject;
  readonly expires: Instant;
}

const longest = 4096;

/** Opaque and signed: `PAYLOAD.SIGNATURE`. Throws if the subject does not exist. */
export function makeToken(key: Uint8Array, world: World, subject: TokenSubject, expires: Instant): string {
  const secrets = secretsOf(world, subject);
  if (secrets === undefined) throw new Error("the subject of the token does not exist");
  const payload = Buffer.from(JSON.stringify({ ...subject, expires })).toString("base64url");
  return `${payload}.${sign(key, payload, secrets).toString("base64url")}`;
}

/** Undefined for tokens that are malformed, forged, revoked or expired. */
export function openToken(key: Uint8Array, world: World, token: string, now: Instant): OpenedToken | undefined {
  const dot = token.indexOf(".");
  if (dot < 0 || token.length > longest) return undefined;
  const payload = token.slice(0, dot);
  const opened = readPayload(payload);
  const secrets = opened && secretsOf(world, opened.subject);
  if (secrets === undefined) return undefined;
  const given = Buffer.from(token.slice(dot + 1), "base64url");
  const expected = sign(key, payload, secrets);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
  return opened !== undefined && opened.expires > now ? opened : undefined;
}

const sign = (key: Uint8Array, payload: string, secrets: readonly string[]): Buffer =>
  createHmac("sha256", key)
    .update(JSON.stringify([payload, ...secrets]))
    .digest();

/** Changing any of these revokes the token. Undefined if the subject or the grantor is gone. */
export function secretsOf(world: World, subject: TokenSubject): readonly string[] | undefined {
  const grantor = subject.by === undefined ? "" : world.get("users", subject.by)?.Secret;
  const own = ownSecret(world, subject);
  return grantor === undefined || own === undefined ? undefined : [grantor, own];
}

function ownSecret(world: World, subject: TokenSubject): string | undefined {
  switch (subject.kind) {
    case "user":
      return world.get("users", subject.name)?.Secret;
    case "machine":
      return world.get("machines", subject.machine)?.Secret;
    case "job": {
      const state = world.get("jobs", subject.job)?.State;
      const isOver = state === undefined || state === "finished" || state === "failed";
      return isOver ? undefined : world.get("machines", subject.machine)?.Secret;
    }
    case "profile":
      return world.get("profiles", subject.profile) === undefined ? undefined : "";
    case "create":
      return "";
  }
}

/** Nothing but its signature says that it is one of this server's. */
function readPayload(payload: string): OpenedToken | undefined {
  try {
    const { expires, ...subject } = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as TokenSubject & {
      readonly expires?: unknown;
    };
    return typeof expires === "number" ? { subject, expires } : undefined;
  } catch {
    return undefined;
  }
}

const unitSeconds: Readonly<Record<string, number>> = {
  "": 1,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  mo: 2_592_000,
  y: 31_536_000,
};

/** Ten years: longer ones would be clamped by nothing else. */
const mostSeconds = 315_360_000;

/** `3600`, `1h`, `3y`; undefined if it is none of these. */
export function readTtl(text: string): number | undefined {
  const [, count = "", unit = ""] = /^(\d{1,12})(|s|m|h|d|w|mo|y)$/.exec(text.trim()) ?? [];
  const seconds = unitSeconds[unit];
  return count === "" || seconds === undefined ? undefined : Math.min(Number(count) * seconds, mostSeconds);
}

/** Tokens for templates, which nobody but the server grants. */
export function renderTokens(
  accounts: Pick<Accounts, "tokenKey">,
  world: World,
  clock: Clock,
): Pick<RenderPlace, "machineToken" | "profileToken"> {
  const make = (subject: TokenSubject, seconds: number) =>
    makeToken(accounts.tokenKey, world, subject, clock.now() + seconds * 1000);
  return {
    machineToken: (machine, seconds) =>
      make(machine === undefined ? { kind: "create" } : { kind: "machine", machine: machine.Uuid }, seconds),
    profileToken: (profile, seconds) => make({ kind: "profile", profile }, seconds),
  };
}
