import type { Machine } from "../objects.ts";
import type { RenderPlace } from "../render.ts";
import type { World } from "../world.ts";

/** The param that templates find repositories in. */
export const repositories = "package-repositories";

/** The installation tree that this server has for the machine's system, as a repository; undefined: none. */
export function localRepoOf(
  machine: Machine | undefined,
  world: World,
  place: Pick<RenderPlace, "hasTree">,
  provisionerUrl: string,
): { readonly tag: string; readonly arch: string; readonly url: string } | undefined {
  if (machine === undefined || machine.OS === "" || place.hasTree === undefined) return undefined;
  const arch = machine.Arch === "amd64" ? "" : `/${machine.Arch}`;
  const path = `${machine.OS}${arch}/install`;
  if (!place.hasTree(path)) return undefined;
  const bootEnv = world.all("bootenvs").find(({ OS }) => OS.Name === machine.OS);
  return { tag: bootEnv?.Name ?? machine.OS, arch: machine.Arch, url: `${provisionerUrl}/${path}` };
}
