import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts } from "../controller-parts.ts";
import { addController } from "./controller.ts";

/**
 * Adds what is at work for this dialect in a server to a manager that has not started: the controller, and the server of agents where an
 * address for them is given, which is loaded only then.
 */
export async function addControllers(manager: Manager, { templates, options }: ControllerParts): Promise<void> {
  const { listen, settings = {}, ...rest } = options.tinkerbell ?? {};
  addController(manager, { renderer: templates, settings });
  if (listen === undefined || listen === "off") return;
  const { addTinkerbellServer } = await import("./server/server.ts");
  addTinkerbellServer(manager, { listen, settings, ...rest });
}
