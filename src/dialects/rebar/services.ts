import { hostname } from "node:os";
import { aborted, deferred, messageOf, retry } from "#lib/base/index.ts";
import { type ControllerParts, openWhenNeeded } from "#kernel/dialect/index.ts";
import type { Manager } from "#kernel/kit/index.ts";
import { isForbidden } from "#kernel/model/index.ts";
import { addController } from "./controller.ts";
import { firstKey } from "./first-key.ts";
import { ContentBundle, kindOf } from "./kinds.ts";
import { openJobLog } from "./run-logs.ts";
import { clientHint, firstUserName, knownPassword, nothingServed, wellKnownPassword } from "./messages.ts";
import { type ListeningServer, openServer, openStoreOnly, type RebarServer, type ServerParts } from "./open-server.ts";
import type { RebarOptions } from "./options.ts";

/** The first object of these kinds starts the server. */
const neededBy = [kindOf.machines, ContentBundle];

/**
 * Adds the server for clients and agents, or only its store, and the controller of machines, which works on the store.
 * Rejects if a required address is taken.
 */
export async function addControllers(manager: Manager, parts: ControllerParts<RebarOptions>): Promise<void> {
  const { options = {} } = parts;
  const { clock, log, random } = manager;
  const given: ServerParts = {
    client: manager.client,
    templates: parts.templates,
    directory: parts.directory,
    options,
    clock,
    log,
    random,
    contexts: {
      environment: parts.environment ?? {},
      ...podsFor(parts),
    },
  };
  const opened = deferred<RebarServer>();
  opened.promise.catch(() => undefined);
  parts.tellLogs(openJobLog(opened.promise, clock));
  if (options.part !== "server") addController(manager, opened.promise);
  if (options.listen === undefined) addStore(manager, given, opened);
  else await addServer(manager, parts, { ...given, options }, opened);
}

/** Pods that are processes of this user would be the host engine without its option. */
export const podsFor = ({
  podStreams,
  runsPodsOnHost = false,
  options,
}: Pick<ControllerParts<RebarOptions>, "podStreams" | "runsPodsOnHost" | "options">) =>
  podStreams === undefined || (runsPodsOnHost && options?.allowsHost !== true) ? {} : { podStreams };

/** Without listeners: what kubectl and the command line write gets its effects. */
function addStore(manager: Manager, parts: ServerParts, opened: ReturnType<typeof deferred<RebarServer>>): void {
  manager.add({
    name: "rebar-store",
    async run({ stop }) {
      const server = await onceAllowed(parts, stop).catch((thrown: unknown) => {
        if (stop.aborted) return undefined;
        throw thrown;
      });
      if (server === undefined) return opened.reject(new Error("stopped before machines were served"));
      opened.resolve(server);
      await aborted(stop);
      await server.close();
    },
  });
}

const waits = { first: 1_000, longest: 60_000 };

/** On a cluster a missing right must not end the controllers of everything else: it is told, and awaited. */
const onceAllowed = (parts: ServerParts, signal: AbortSignal): Promise<RebarServer> =>
  retry(
    {
      ...waits,
      clock: parts.clock,
      signal,
      isRetryable(thrown) {
        if (!isForbidden(thrown)) return false;
        parts.log.warn("machines are not served", { error: messageOf(thrown) });
        return true;
      },
    },
    () => openStoreOnly(parts),
  );

async function addServer(
  manager: Manager,
  controllerParts: ControllerParts<RebarOptions>,
  parts: ServerParts,
  opened: ReturnType<typeof deferred<RebarServer>>,
): Promise<void> {
  const { listen, usesDefaultPassword = false } = parts.options;
  if (listen === undefined) return;
  const key = await firstKey(parts.directory, usesDefaultPassword);
  const needed = {
    ...nothingServed,
    listen,
    neededBy,
    what: nothingServed.serves,
    serves: "rebar-api",
    tokenFile: key.file,
    hint: async ({ address, port: { store } }: { readonly address: string; readonly port: ListeningServer }) =>
      (await store.passwords.check(firstUserName, key.user.password)) ? clientHint(address, key.file) : undefined,
  };
  const recorder = manager.recorder({ controller: "slipway.dev/rebar-server", instance: hostname() });
  const open = (address: string): Promise<ListeningServer> =>
    openServer({ ...parts, firstUser: key.user, recorder }, address);
  const { opened: port } = await openWhenNeeded(manager, controllerParts, needed, open);
  manager.add({
    name: "rebar-server",
    runsWithoutLeadership: true,
    async run({ stop }) {
      const found = await Promise.race([port, aborted(stop).then(() => undefined)]).catch(() => undefined);
      if (found === undefined) return opened.reject(new Error("the server for machines did not start"));
      const { address, port: server } = found;
      opened.resolve(server);
      await tellAbout(controllerParts, manager, server, { address, file: key.file, password: key.user.password });
      await aborted(stop);
      await server.close();
    },
  });
}

/** Tells how clients get in, as long as the first password is what it was. */
async function tellAbout(
  parts: ControllerParts<RebarOptions>,
  { log }: Manager,
  { store, files }: ListeningServer,
  { address, file, password }: { readonly address: string; readonly file: string; readonly password: string },
): Promise<void> {
  if (await store.passwords.check(firstUserName, password))
    log.info("for drpcli and agents", { paste: clientHint(address, file) });
  if (files !== undefined) {
    parts.tellPort({ serves: "boot files for machines", address: files });
    log.warn("boot files need no credentials: every user who can reach the port reads them", { address: files });
  }
  const tell = async (): Promise<void> => {
    const isKnown = await store.passwords.check(firstUserName, wellKnownPassword);
    parts.tellCondition(knownPassword(isKnown));
  };
  await tell();
  store.listen(({ Type, Key }) => {
    if (Type === "users" && Key === firstUserName)
      void tell().catch((thrown: unknown) => log.warn("the password was not checked", { error: messageOf(thrown) }));
  });
}
