import type { Clock } from "#lib/base/index.ts";
import type { ContainerEngine } from "./container-engine.ts";
import type { AddressSurroundings } from "./engine/engine-address.ts";

/** The engine that `docker` would talk to. Rejects with `engine-address`; whether it answers is seen by the first call. */
export async function openContainerEngine(surroundings: AddressSurroundings, clock: Clock): Promise<ContainerEngine> {
  const { ContainerEngine } = await import("./container-engine.ts");
  return new ContainerEngine(surroundings, clock);
}
