import { textAt } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { readObjectBody } from "./bodies.ts";
import { type Answer, type Call, demand, found, isRead, listOfWords, noRoute, notFound, writeOf } from "./call.ts";
import type { World } from "../world.ts";
import { demandClaims, grantsOf } from "./grants.ts";
import { infoOf } from "./info.ts";
import type { ApiParts } from "./parts.ts";
import { makeToken, readTtl, type TokenSubject } from "./tokens.ts";

const defaultSeconds = 3600;

/** `GET /users/U/token`: a session. */
export function userToken(parts: ApiParts, name: string, call: Call): Answer {
  if (!isRead(call.method)) throw noRoute(call);
  demand(call, "users", "token", name);
  demandRightsOf(call, parts.store.world, name);
  const roles = rolesFor(call, name);
  const text = call.query.get("ttl") ?? String(defaultSeconds);
  // Of users only seconds are accepted.
  const seconds = /^\d+$/.test(text) ? readTtl(text) : undefined;
  return tokenAnswer(parts, call, { kind: "user", name, ...(roles === undefined ? {} : { roles }) }, seconds);
}

/** Whoever becomes another user needs that user's rights; 404 if there is none. */
function demandRightsOf(call: Call, world: World, name: string): void {
  const user = world.get("users", name);
  if (user === undefined) throw notFound(call.method, "users", name);
  const { subject } = call.caller;
  if (subject.kind !== "user" || subject.name !== name) demandClaims(call, grantsOf(world, user));
}

/** A token has at most the roles of the token that asks for it. */
function rolesFor({ caller, query }: Call, name: string): readonly string[] | undefined {
  const asked = listOfWords(query.get("roles"));
  const { subject } = caller;
  if (subject.kind !== "user" || subject.name !== name || subject.roles === undefined) return asked;
  const own = subject.roles;
  return asked === undefined ? own : asked.filter((role) => own.includes(role));
}

/** `GET /machines/U/token`. */
export function machineToken(parts: ApiParts, machine: string, call: Call): Answer {
  if (!isRead(call.method)) throw noRoute(call);
  demand(call, "machines", "token", machine);
  if (parts.store.world.get("machines", machine) === undefined) throw notFound(call.method, "machines", machine);
  return tokenAnswer(parts, call, { kind: "machine", machine }, readTtl(call.query.get("ttl") ?? `${defaultSeconds}`));
}

function tokenAnswer(parts: ApiParts, call: Call, subject: TokenSubject, seconds: number | undefined): Answer {
  const [model = "", key = ""] = call.path;
  if (seconds === undefined)
    throw new Refused(refusal(400, call.method, model, key, `Invalid ttl ${call.query.get("ttl") ?? ""}`));
  const { store, accounts, clock, facts } = parts;
  const by = call.caller.principal;
  const whole = by.kind === "user" && call.caller.subject.kind === "user" ? { ...subject, by: by.name } : subject;
  const token = makeToken(accounts.tokenKey, store.world, whole, clock.now() + seconds * 1000);
  return found({ Token: token, Info: infoOf(facts(), store.world) });
}

/** `PUT /users/U/password`. */
export async function userPassword({ store, accounts }: ApiParts, name: string, call: Call): Promise<Answer> {
  if (call.method !== "PUT") throw noRoute(call);
  demand(call, "users", "password", name);
  const password = textAt(await readObjectBody(call), "Password");
  if (password === undefined)
    throw new Refused(refusal(400, "PUT", "users", name, "expected a Password that is not empty"));
  demandRightsOf(call, store.world, name);
  await accounts.passwords.set(name, password, writeOf(call));
  return found(store.world.get("users", name));
}
