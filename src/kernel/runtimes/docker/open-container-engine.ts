import type { Clock } from "#lib/base/index.ts";
import type { ContainerEngine } from "./container-engine.ts";
import type { AddressSurroundings } from "./engine/engine-address.ts";

/** The engine that `docker` would use. Rejects with `engine-address`; the first call shows whether it answers. */
export async function openContainerEngine(surroundings: AddressSurroundings, clock: Clock): Promise<ContainerEngine> {
  const { ContainerEngine } = await import("./container-engine.ts");
  return new ContainerEngine(surroundings, clock);
}
