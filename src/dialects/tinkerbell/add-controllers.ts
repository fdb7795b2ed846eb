import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts } from "../controller-parts.ts";
import { openChosen } from "../listening.ts";
import { addController } from "./controller.ts";
import { logsIn } from "./log-places.ts";
import { present } from "./members.ts";
import { agentsUnserved, insecureAgents } from "./messages.ts";
import { completeSettings } from "./settings.ts";

/**
 * Adds what is at work for this dialect in a process to a manager that has not started: the controller, and the server of agents where an
 * address for them is given, which is loaded only then; or one of the two. Rejects when that address cannot be had.
 */
export async function addControllers(manager: Manager, parts: ControllerParts): Promise<void> {
  const { part, listen, settings: given = {}, keepalive = {}, ...more } = parts.options.tinkerbell ?? {};
  const settings = completeSettings(given);
  if (part !== "server") addController(manager, { renderer: parts.templates, settings });
  if (part === "controller") return;
  if (more.tls !== undefined) await (await import("#kernel/rpc/index.ts")).checkTlsFiles(more.tls);
  if (listen === undefined) return parts.tellCondition(agentsUnserved);
  const agents = { what: "agents of Tinkerbell", flag: "--tink-listen", log: manager.log };
  const port = await openChosen(listen, parts.openPort, agents);
  const { addTinkerbellServer, isOpenToAll, usualKeepalive } = await import("./server/server.ts");
  const logs = { directory: logsIn(parts.directory) };
  const options = { settings, logs, keepalive: { ...usualKeepalive, ...present(keepalive) }, ...present(more) };
  addTinkerbellServer(manager, { listen: listen.address, port, ...options });
  const address = listen.address.replace(/\d+$/, String(port.port));
  parts.tellPort({ serves: "agents of Tinkerbell", address });
  parts.tellCondition(insecureAgents(address, isOpenToAll({ listen: listen.address, ...options })));
}
