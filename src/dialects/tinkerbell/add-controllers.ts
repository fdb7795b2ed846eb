import { codeOf, SlipwayError, toError } from "#lib/base/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import type { RpcPort } from "#kernel/rpc/index.ts";
import type { ControllerParts } from "../controller-parts.ts";
import { addController } from "./controller.ts";
import { logsIn } from "./log-places.ts";
import { present } from "./members.ts";
import { agentsUnserved, insecureAgents } from "./messages.ts";
import type { TinkerbellOptions } from "./options.ts";
import { completeSettings } from "./settings.ts";

/**
 * Adds what is at work for this dialect in a server to a manager that has not started: the controller, and the server of agents where an
 * address for them is given, which is loaded only then. Rejects when that address cannot be had.
 */
export async function addControllers(manager: Manager, parts: ControllerParts): Promise<void> {
  const { listen, settings: given = {}, keepalive = {}, ...more } = parts.options.tinkerbell ?? {};
  const settings = completeSettings(given);
  addController(manager, { renderer: parts.templates, settings });
  if (more.tls !== undefined) await (await import("#kernel/rpc/index.ts")).checkTlsFiles(more.tls);
  const port = listen === undefined ? undefined : await takePort(listen, manager, parts);
  if (listen === undefined || port === undefined) return parts.tellCondition(agentsUnserved);
  const { addTinkerbellServer, isOpenToAll, usualKeepalive } = await import("./server/server.ts");
  const logs = { directory: logsIn(parts.directory) };
  const options = { settings, logs, keepalive: { ...usualKeepalive, ...present(keepalive) }, ...present(more) };
  addTinkerbellServer(manager, { listen: listen.address, port, ...options });
  const address = listen.address.replace(/\d+$/, String(port.port));
  parts.tellPort({ serves: "agents of Tinkerbell", address });
  parts.tellCondition(insecureAgents(address, isOpenToAll({ listen: listen.address, ...options })));
}

/** Undefined where the address is only the usual one and somebody has it: mostly another server on this machine. */
async function takePort(
  { address, isUsual }: NonNullable<TinkerbellOptions["listen"]>,
  { log }: Manager,
  { openPort }: ControllerParts,
): Promise<RpcPort | undefined> {
  try {
    return await openPort(address);
  } catch (thrown) {
    if (isUsual && codeOf(toError(thrown).cause) === "EADDRINUSE") {
      log.warn("no agents are served: something else has their usual address; --tink-listen names another one", {
        address,
      });
      return undefined;
    }
    const hint = "name another address with --tink-listen HOST:PORT, or --tink-listen off to serve no agents";
    throw new SlipwayError("listen-failed", toError(thrown).message, { hint, cause: thrown });
  }
}
