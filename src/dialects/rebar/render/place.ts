import type { Clock } from "#lib/base/index.ts";
import type { SecureParams } from "../accounts.ts";
import { makeToken, type TokenSubject } from "../api/tokens.ts";
import type { RenderPlace } from "../render.ts";
import type { World } from "../world.ts";

export interface RenderPlaceOptions
  extends Pick<RenderPlace, "provisionerUrl" | "apiUrl" | "info" | "hasTree">,
    Pick<SecureParams, "open"> {
  readonly world: World;
  /** Of `Accounts`. */
  readonly tokenKey: Uint8Array;
  readonly clock: Clock;
}

/** A place whose tokens are those of `/api/v3`. */
export function renderPlaceOf({ world, tokenKey, clock, ...rest }: RenderPlaceOptions): RenderPlace {
  const tokenFor = (subject: TokenSubject, seconds: number): string =>
    makeToken(tokenKey, world, subject, clock.now() + seconds * 1000);
  return {
    ...rest,
    machineToken: (machine, seconds) =>
      tokenFor(machine === undefined ? { kind: "create" } : { kind: "machine", machine: machine.Uuid }, seconds),
    profileToken: (profile, seconds) => tokenFor({ kind: "profile", profile }, seconds),
  };
}
