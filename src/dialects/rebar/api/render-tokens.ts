import type { Clock } from "#lib/base/index.ts";
import type { Accounts } from "../accounts.ts";
import type { RenderPlace } from "../render.ts";
import type { World } from "../world.ts";
import { makeToken, type TokenSubject } from "./tokens.ts";

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
