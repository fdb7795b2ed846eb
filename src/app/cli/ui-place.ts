import { type Clock, silentLog, SlipwayError, toError } from "#lib/base/index.ts";
import type { Invocation } from "#kernel/command/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import { ApiError } from "#kernel/model/index.ts";
import { findConnection } from "./connect.ts";
import { ownPlace, requestLink, type UiLink, type UiPlace, uiDirectory } from "./ui-link.ts";
import { version } from "./version.ts";

/**
 * The web UI of the named or running control plane; where it has none, as a cluster, and with a `port`, one that this
 * command serves in front of it.
 */
export async function placeOf(
  { options, environment, clock, signal }: Pick<Invocation<object>, "options" | "environment" | "clock" | "signal">,
  port?: number,
): Promise<UiPlace> {
  const connection = await findConnection(options, environment, clock, signal);
  if (port === undefined && (await isOurs(connection, clock, signal)))
    return {
      isOwn: false,
      link: (page) => requestLink(connection, page, { clock, signal }),
      close: async () => undefined,
    };
  const namespace = options.namespace ?? connection.namespace ?? "default";
  const directory = uiDirectory(environment);
  const { askForLink, linkSocket, offerLinks } = await import("./ui-socket.ts");
  const socket = linkSocket(directory, connection, namespace);
  if (port === undefined && (await askForLink(socket, "/")) !== undefined)
    return { isOwn: false, link: (page) => linkFrom(socket, page), close: async () => undefined };
  const { serveClusterUi } = await import("#app/server/index.ts");
  const served = await serveClusterUi({
    connection,
    namespace,
    directory,
    port: port ?? 0,
    clock,
    version,
    level: options.verbose > 1 ? "debug" : "error",
    signal,
  });
  environment.err.write(`slipway: serving the web UI of ${connection.server} to ${served.user}\n`);
  const withdraw = await offerLinks(socket, ownPlace(served)).catch((thrown: unknown) => {
    environment.err.write(`slipway: no further links: ${toError(thrown).message}\n`);
    return undefined;
  });
  return ownPlace(served, async () => {
    await withdraw?.();
    await served.close();
  });
}

async function linkFrom(socket: string, page: string): Promise<UiLink> {
  const { askForLink } = await import("./ui-socket.ts");
  const link = await askForLink(socket, page);
  if (link === undefined) throw new SlipwayError("no-code", "the web UI that serves this cluster has just ended");
  return link;
}

/** Whether the server is a control plane of `slipway up`, which it says to everybody who may ask for its version. */
async function isOurs(connection: Connection, clock: Clock, signal: AbortSignal): Promise<boolean> {
  const { ApiChannel } = await import("#kernel/kit/index.ts");
  const channel = new ApiChannel({ connection, clock, log: silentLog, random: () => 0 });
  try {
    const { gitVersion } = await channel.json({ method: "GET", path: "/version", signal });
    return typeof gitVersion === "string" && gitVersion.includes("+slipway.");
  } catch (thrown) {
    if (thrown instanceof ApiError) return false;
    throw thrown;
  } finally {
    channel.close();
  }
}
