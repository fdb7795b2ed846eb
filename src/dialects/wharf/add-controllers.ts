import type { Manager } from "#kernel/kit/index.ts";
import type { ControllerParts } from "../controller-parts.ts";
import { addAggregator } from "./aggregator/add-aggregator.ts";
import { addWatchdog } from "./watchdog/add-watchdog.ts";
import { BuildStores } from "./api/build-stores.ts";
import { removeWithBuilds } from "./api/remove-with-builds.ts";
import { EndedBuilds } from "./api/ended-builds.ts";
import { openApi } from "./api/open-api.ts";
import { openBuildLog } from "./run-logs.ts";
import { forwardBy } from "./provisioner/pod-address.ts";
import { readTokenFile } from "./http/token-file.ts";
import { addBuildControllers } from "./builds/controller.ts";
import { isOver, wordOf } from "./build-status.ts";
import { Build, Worker } from "./kinds.ts";
import { Records } from "./builds/records.ts";
import type { WharfOptions } from "./options.ts";
import { enginesOf, type OwnProvisioner, ownServices, type Services, servicesOf } from "./services.ts";

// Builds are controlled wherever there is a server; who runs them and who may ask for them over REST depends on what it was started with. A control
// plane that lasts for one command has neither: its builds fail with a sentence that says so, and do not wait for somebody who never comes.

/** Undefined where there is none. */
async function ownProvisioner(manager: Manager, parts: ControllerParts): Promise<OwnProvisioner | undefined> {
  const given = parts.options.wharf ?? {};
  const { provisioner, namespace, instance, notes } = given;
  if (provisioner === undefined) return undefined;
  const { openProvisioner } = await import("./provisioner/open-provisioner.ts");
  const token = await ownToken(given);
  const { directory, version, podStreams } = parts;
  const place = { directory, namespace, instance, token, version, podStreams, notes };
  const address = await openProvisioner(manager, provisioner, place);
  parts.tellPort({ serves: "Wharf's provisioner", address });
  return { address, token };
}

/**
 * Adds what is at work for this dialect in a server to a manager that has not started: the controller of builds, and wharf-api where it has an
 * address. Rejects when that address cannot be had.
 */
export async function addControllers(manager: Manager, parts: ControllerParts): Promise<void> {
  const given = parts.options.wharf ?? {};
  if (given.part === "aggregator") return await aggregate(manager, parts, {});
  if (given.part === "provisioner") return void (await ownProvisioner(manager, parts));
  if (given.part === "watchdog") return await watch(manager, given, {});
  const { instance = "local", namespace = "default" } = given;
  const records = new Records(manager);
  const { engineTokenFile, triggerDeadlineMs } = given;
  const engineToken =
    engineTokenFile === undefined ? undefined : await readTokenFile(engineTokenFile, "--wharf-engine-token-file");
  const tokens = { own: await ownToken(given), engine: engineToken };
  const engines = enginesOf(given, await ownProvisioner(manager, parts), tokens);
  const { clock, log } = manager;
  const stores = new BuildStores({ directory: parts.directory, clock, log, known: () => knownTo(records) });
  // The number of a build that is gone is not given again.
  records.buildNumbers.saw(await stores.highestNumber());
  if (given.part !== "api")
    addBuildControllers(manager, { records, engines, instance, triggerDeadlineMs, kept: stores });
  const { version } = parts;
  const ended = new EndedBuilds(records);
  parts.tellLogs(openBuildLog({ logs: async () => (await stores.open()).logs, ended, clock }));
  const address = await openApi(manager, { ...given, records, engines, instance, namespace, stores, version });
  // Without an address nobody brings anything to store.
  if (address === undefined) manager.onStopped(() => void stores.close());
  else parts.tellPort({ serves: "wharf-api", address });
  if (address === undefined) return;
  // Who controls builds elsewhere has no part in these stores.
  if (given.part === "api") removeWithBuilds(records, stores, log);
  const own = ownServices(address, tokens.own, engines[0]);
  await aggregate(manager, parts, own);
  await watch(manager, given, own, nothingToCompare(manager));
}

/** Which builds there are; undefined before all are mirrored, when every one would seem to be missing. */
const knownTo = (records: Records): ((buildId: number) => boolean) | undefined =>
  records.builds.hasSynced() ? (buildId) => records.build(buildId) !== undefined : undefined;

/** What every request to this server must bear; undefined where it answers everybody. */
const ownToken = async ({ tokenFile }: Pick<WharfOptions, "tokenFile">): Promise<string | undefined> =>
  tokenFile === undefined ? undefined : await readTokenFile(tokenFile, "--wharf-auth-token-file");

/** Does nothing where another process is the aggregator, or there is nothing to carry. `own` is reached as by one elsewhere. */
async function aggregate(manager: Manager, { options, podStreams }: ControllerParts, own: Services): Promise<void> {
  const given = options.wharf ?? {};
  const { aggregator = {} } = given;
  if (aggregator === "off") return;
  const services = await servicesOf(aggregator, own);
  const forward = podStreams && forwardBy(podStreams);
  if (services !== undefined) addAggregator(manager, { ...aggregator, ...services, forward });
}

/** The same for the watchdog. */
async function watch(
  manager: Manager,
  given: WharfOptions,
  own: Services,
  isIdle: () => boolean = () => false,
): Promise<void> {
  const { watchdog = {} } = given;
  if (watchdog === "off") return;
  const services = await servicesOf(watchdog, own);
  if (services !== undefined) addWatchdog(manager, { ...watchdog, ...services, isIdle });
}

/** A server without builds is not to load what answers over REST every five minutes. */
function nothingToCompare(manager: Manager): () => boolean {
  const workers = manager.mirror<Worker>(Worker);
  const builds = manager.mirror<Build>(Build);
  return () => workers.list().length === 0 && builds.list().every((build) => isOver(wordOf(build)));
}
