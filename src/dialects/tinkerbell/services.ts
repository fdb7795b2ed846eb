import type { Manager } from "#kernel/kit/index.ts";
import { type ControllerParts, openWhenNeeded } from "#kernel/dialect/index.ts";
import { serverToken } from "#kernel/doors/index.ts";
import { addController } from "./controller.ts";
import { logsIn } from "./logs/places.ts";
import { present } from "./members.ts";
import { Hardware, Template, Workflow } from "./kinds.ts";
import { agentsUnserved, insecureAgents } from "./messages.ts";
import type { TinkerbellOptions } from "./options.ts";
import { completeSettings } from "./settings.ts";

/** Namespace of the Secret that holds agents' tokens. */
const tokenNamespace = "default";

/** Adds the controller, the server for agents, or both. Rejects if a required address is taken. */
export async function addControllers(manager: Manager, parts: ControllerParts<TinkerbellOptions>): Promise<void> {
  const {
    part,
    listen,
    settings: given = {},
    keepalive = {},
    auth,
    allowsAnonymous = false,
    ...more
  } = parts.options ?? {};
  const settings = completeSettings(given);
  if (part !== "server") addController(manager, { renderer: parts.templates, settings });
  if (part === "controller") return;
  if (more.tls !== undefined) await (await import("#kernel/rpc/index.ts")).checkTlsFiles(more.tls);
  if (listen === undefined) return parts.tellCondition(agentsUnserved);
  const { token, file } = await serverToken(parts.directory);
  const needed = {
    serves: "tinkerbell-agents",
    what: "agents of Tinkerbell",
    flag: "--tink-listen",
    listen,
    neededBy: [Hardware, Template, Workflow],
    tokenFile: file,
    anonymousFlag: allowsAnonymous ? "--tink-anonymous-auth" : undefined,
  };
  const { opened } = await openWhenNeeded(manager, parts, needed, parts.openPort);
  const { addTinkerbellServer, usualKeepalive } = await import("./server/server.ts");
  const logs = { directory: logsIn(parts.directory) };
  const options = { settings, logs, keepalive: { ...usualKeepalive, ...present(keepalive) }, ...present(more) };
  const port = opened.then((it) => it.port);
  port.catch(() => undefined);
  const tokens = { mode: "token", namespace: tokenNamespace, token, allowsAnonymous } as const;
  addTinkerbellServer(manager, {
    listen: listen.address,
    port,
    auth: auth === "mtls" ? { mode: auth } : tokens,
    ...options,
  });
  parts.tellCondition(insecureAgents(listen.address, allowsAnonymous));
}
