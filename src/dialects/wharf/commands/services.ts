import { resolve } from "node:path";
import { type ClusterFlags, type Invocation, UsageError } from "#kernel/command/index.ts";
import { aggregatorOf, type SaidService, type SaidServices, watchdogOf } from "./service-clients.ts";
import { findServer, type SoughtServer } from "#kernel/command/index.node.ts";
import { opensService } from "./serving.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";
import type { Configuration } from "../configuration/keys.ts";
import { parseShard } from "../aggregator/shard.ts";

export interface WharfServiceFlags extends ClusterFlags {
  readonly api?: string;
  readonly provisioner?: string;
  readonly authTokenFile?: string;
  readonly apiTokenFile?: string;
  readonly provisionerTokenFile?: string;
  readonly shard?: string;
  readonly maxWorkers?: number;
}

const [usualApi, usualProvisioner] = ["http://127.0.0.1:5001", "http://127.0.0.1:5009"];

export async function serveAggregator(invocation: Invocation<WharfServiceFlags>): Promise<number> {
  const { options, environment } = invocation;
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  const reading = await readingIn(environment);
  const { maxWorkers } = options;
  const told = aggregatorOf(settings, await saidOf("aggregator", settings, invocation), reading);
  const shard = parseShard(options.shard ?? "1/1");
  if (!shard.ok) reading.problems.push(`--shard: ${shard.error}`);
  if (maxWorkers === 0) reading.problems.push("--max-workers: expected at least 1");
  if (!shard.ok || reading.problems.length > 0) throw new UsageError(reading.problems.join("\n"));
  const aggregator = { ...told, shard: shard.value, ...(maxWorkers === undefined ? {} : { maxWorkers }) };
  const wharf = { part: "aggregator", aggregator } as const;
  const work = { language: "wharf", isForAny: true, looksAt: ["workers"], dialectOptions: { wharf } } as const;
  return await invocation.host.serveCluster(invocation, work);
}

export async function serveWatchdog(invocation: Invocation<WharfServiceFlags>): Promise<number> {
  const { options, environment } = invocation;
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  const reading = await readingIn(environment);
  const watchdog = watchdogOf(settings, await saidOf("watchdog", settings, invocation), reading);
  if (reading.problems.length > 0) throw new UsageError(reading.problems.join("\n"));
  const wharf = { part: "watchdog", watchdog } as const;
  const work = { language: "wharf", isForAny: true, looksAt: [], dialectOptions: { wharf } } as const;
  return await invocation.host.serveCluster(invocation, work);
}

async function readingIn({ directory }: Invocation<WharfServiceFlags>["environment"]) {
  return { problems: [] as string[], resolve: (file: string) => resolve(directory, file) };
}

async function saidOf(
  part: "aggregator" | "watchdog",
  settings: Configuration,
  { options, environment, clock, signal }: Invocation<WharfServiceFlags>,
): Promise<SaidServices> {
  const api = { url: options.api, tokenFile: options.apiTokenFile ?? options.authTokenFile };
  const provisioner = { url: options.provisioner, tokenFile: options.provisionerTokenFile ?? options.authTokenFile };
  const { resolve } = await readingIn(environment);
  // A named service may start later: its token is looked up with each request.
  const find = async (sought: Omit<SoughtServer, "opens">, said: SaidService, set: SaidService) => {
    if (said.url !== undefined || set.url !== undefined) return {};
    const file = said.tokenFile ?? set.tokenFile;
    const tokenFile = file && resolve(file);
    const wanted = { ...sought, tokenFile, opens: opensService(sought.serves) };
    return await findServer(wanted, environment, { clock, signal });
  };
  const [ofApi, ofProvisioner] = [
    { url: settings[`${part}.wharfApiUrl`], tokenFile: settings[`${part}.wharfApiTokenFile`] },
    { url: settings[`${part}.provisionerUrl`], tokenFile: settings[`${part}.provisionerTokenFile`] },
  ];
  const found = {
    api: await find({ serves: "wharf-api", flag: "--api", usual: usualApi }, api, ofApi),
    provisioner: await find(
      { serves: "provisioner", flag: "--provisioner", usual: usualProvisioner },
      provisioner,
      ofProvisioner,
    ),
  };
  return { api, provisioner, found };
}
