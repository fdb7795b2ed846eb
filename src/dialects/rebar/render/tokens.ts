import type { Machine } from "../objects.ts";
import type { RenderPlace } from "../render.ts";
import type { World } from "../world.ts";

const infiniteSeconds = 3 * 365 * 24 * 3600;
/** What 0 means for tokens of profiles. */
const longestSeconds = 2_000_000_000;

/** The token that the module asks for by this name (`go/rebar/data.go`); undefined if the machine gets none. */
export function tokenOf(
  name: string,
  machine: Machine | undefined,
  world: World,
  place: RenderPlace,
): string | undefined {
  if (name === "known") {
    const { knownTokenTimeout, unknownTokenTimeout } = world.prefs;
    return place.machineToken(machine, Number(machine === undefined ? unknownTokenTimeout : knownTokenTimeout));
  }
  if (machine === undefined) return undefined;
  if (name === "infinite") return place.machineToken(machine, infiniteSeconds);
  const [, seconds, profile] = /^profile:(-?\d+):(.*)$/s.exec(name) ?? [];
  if (profile === undefined || !machine.Profiles.includes(profile)) return undefined;
  // Clients know this text.
  if (world.get("profiles", profile) === undefined) return "InvalidTokenNotAllowedNoProfile";
  return place.profileToken(profile, Number(seconds) > 0 ? Number(seconds) : longestSeconds);
}
