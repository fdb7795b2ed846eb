import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts, ServerCondition } from "#kernel/dialect/index.ts";
import { readTokenFile, serverToken } from "#kernel/doors/index.ts";
import { addAggregator } from "./aggregator/add-aggregator.ts";
import { addWatchdog } from "./watchdog/watched-services.ts";
import { BuildStores } from "./api/build-stores.ts";
import { removeWithBuilds } from "./api/remove-with-builds.ts";
import { EndedBuilds } from "./api/ended-builds.ts";
import { openApi } from "./api/open-api.ts";
import { openBuildLog } from "./run-logs.ts";
import { forwardBy } from "./provisioner/pod-address.ts";
import { addBuildControllers } from "./builds/controller.ts";
import type { Engine } from "./builds/engines.ts";
import type { ServiceAccess } from "./open-service.ts";
import { isOver, wordOf } from "./state.ts";
import { Build, Worker } from "./kinds.ts";
import type { WharfOptions } from "./options.ts";
import { Records } from "./builds/records.ts";
import { enginesOf, type OwnService, servicesOf } from "./services.ts";

type Parts = ControllerParts<WharfOptions>;

async function ownProvisioner(manager: Manager, parts: Parts): Promise<OwnService | undefined> {
  const { provisioner } = parts.options ?? {};
  if (provisioner === undefined) return undefined;
  const { openProvisioner } = await import("./provisioner/open-provisioner.ts");
  return await openProvisioner(manager, provisioner, parts, await ownAccess(parts));
}

/** Adds the controllers and services that run in this server to a manager that has not started. Rejects if a named
 * address cannot be opened. */
export async function addControllers(manager: Manager, parts: Parts): Promise<void> {
  const given = parts.options ?? {};
  if (given.part === "aggregator") return await aggregate(manager, parts);
  if (given.part === "provisioner") return void (await ownProvisioner(manager, parts));
  if (given.part === "watchdog") return await watch(manager, parts);
  if (given.part === undefined) parts.tellCondition(noProvisioner(given.provisioner === undefined));
  const { instance = "local", namespace = "default" } = given;
  const records = new Records(manager);
  const { engineTokenFile, triggerDeadlineMs } = given;
  const engineToken =
    engineTokenFile === undefined ? undefined : await readTokenFile(engineTokenFile, "--wharf-engine-token-file");
  const engines = enginesOf(given, await ownProvisioner(manager, parts), engineToken, parts.notes);
  const { clock, log } = manager;
  const stores = new BuildStores({ directory: parts.directory, clock, log, known: () => knownTo(records) });
  records.buildNumbers.saw(await stores.highestNumber());
  if (given.part !== "api")
    addBuildControllers(manager, { records, engines, instance, triggerDeadlineMs, kept: stores, audit: parts.audit });
  const { version } = parts;
  const ended = new EndedBuilds(records);
  parts.tellLogs(openBuildLog({ logs: async () => (await stores.open()).logs, ended, clock }));
  const { listen } = given;
  // Without an address nothing reaches the stores.
  if (listen === undefined) return manager.onStopped(() => void stores.close());
  const access = await ownAccess(parts);
  const api = { ...given, listen, records, engines, instance, namespace, stores, version };
  const own = await openApi(manager, api, parts, access);
  // The process that controls builds elsewhere has no part in these stores.
  if (given.part === "api") removeWithBuilds(records, stores, log);
  await aggregate(manager, parts, own, engines[0]);
  await watch(manager, parts, nothingToCompare(manager), own, engines[0]);
}

/** Set on the Node of a control plane: tells a provisioner beside it that it is the only one. */
const noProvisioner = (isTrue: boolean): ServerCondition => ({
  type: "NoProvisioner",
  isTrue,
  reason: isTrue ? "Off" : "Serves",
  message: isTrue
    ? "this server starts no workers for builds; it needs a provisioner beside it"
    : "this server starts workers for builds",
});

const knownTo = (records: Records): ((buildId: number) => boolean) | undefined =>
  records.builds.hasSynced() ? (buildId) => records.build(buildId) !== undefined : undefined;

/** The same token opens all services of this process. */
async function ownAccess({ directory, options }: Parts): Promise<ServiceAccess> {
  const { tokenFile, allowsAnonymous = false } = options ?? {};
  const { token, file } = await serverToken(directory, tokenFile, "--wharf-auth-token-file");
  return { token, tokenFile: file, allowsAnonymous };
}

async function aggregate(
  manager: Manager,
  { options, notes, podStreams }: Parts,
  api?: OwnService,
  engine?: Engine,
): Promise<void> {
  const given = options ?? {};
  const { aggregator = {} } = given;
  if (aggregator === "off") return;
  const services = await servicesOf(aggregator, notes, api, engine);
  const forward = podStreams && forwardBy(podStreams);
  if (services !== undefined) addAggregator(manager, { ...aggregator, services, forward });
}

async function watch(
  manager: Manager,
  { options, notes }: Parts,
  isIdle: () => boolean = () => false,
  api?: OwnService,
  engine?: Engine,
): Promise<void> {
  const { watchdog = {} } = options ?? {};
  if (watchdog === "off") return;
  const services = await servicesOf(watchdog, notes, api, engine);
  if (services !== undefined) addWatchdog(manager, { ...watchdog, services, isIdle });
}

/** Skips loading the REST client in servers without builds. */
function nothingToCompare(manager: Manager): () => boolean {
  const workers = manager.mirror<Worker>(Worker);
  const builds = manager.mirror<Build>(Build);
  return () => workers.list().length === 0 && builds.list().every((build) => isOver(wordOf(build)));
}
