import type { Millis } from "#lib/base/index.ts";
import type { Shard } from "../aggregator/shard.ts";
import type { NamedService, NamedServices } from "../services.ts";
import type { Configuration } from "../configuration/keys.ts";

export interface WatchdogChoice extends NamedServices {
  readonly intervalMs?: Millis;
  readonly minAgeMs?: Millis;
}

export interface AggregatorChoice extends NamedServices {
  readonly shard?: Shard;
  readonly maxWorkers?: number;
  readonly pods?: { readonly namespace: string; readonly instance: string };
  readonly workerPort?: number;
}

export interface SaidService {
  readonly url?: string | undefined;
  readonly tokenFile?: string | undefined;
}

export interface SaidServices {
  readonly api?: SaidService;
  readonly provisioner?: SaidService;
  readonly found?: { readonly api?: SaidService; readonly provisioner?: SaidService };
}

interface Reading {
  readonly problems: string[];
  readonly resolve: (path: string) => string;
}

export const aggregatorOf = (settings: Configuration, said: SaidServices, reading: Reading): AggregatorChoice => {
  const [maxWorkers, workerPort] = [settings["aggregator.maxWorkers"], settings["aggregator.workerApiExternalPort"]];
  if (maxWorkers === 0) reading.problems.push("aggregator.maxWorkers: expected at least 1");
  if (workerPort !== undefined && (workerPort < 1 || workerPort > 65_535))
    reading.problems.push(`aggregator.workerApiExternalPort: expected a port from 1 to 65535, found ${workerPort}`);
  const namespace = settings["aggregator.podNamespace"];
  return {
    ...servicesOf("aggregator", settings, said, reading),
    ...(namespace === undefined ? {} : { pods: { namespace, instance: settings.instanceId ?? "local" } }),
    ...(maxWorkers === undefined ? {} : { maxWorkers }),
    ...(workerPort === undefined ? {} : { workerPort }),
  };
};

export const watchdogOf = (settings: Configuration, said: SaidServices, reading: Reading): WatchdogChoice => {
  const [intervalMs, minAgeMs] = [settings["watchdog.interval"], settings["watchdog.minAge"]];
  if (intervalMs === 0) reading.problems.push("watchdog.interval: expected a duration above 0");
  return {
    ...servicesOf("watchdog", settings, said, reading),
    ...(intervalMs === undefined ? {} : { intervalMs }),
    ...(minAgeMs === undefined ? {} : { minAgeMs }),
  };
};

function servicesOf(part: "aggregator" | "watchdog", settings: Configuration, said: SaidServices, reading: Reading) {
  const api = {
    url: { by: `${part}.wharfApiUrl`, text: settings[`${part}.wharfApiUrl`] },
    tokenFile: settings[`${part}.wharfApiTokenFile`],
  };
  const provisioner = {
    url: { by: `${part}.provisionerUrl`, text: settings[`${part}.provisionerUrl`] },
    tokenFile: settings[`${part}.provisionerTokenFile`],
  };
  return {
    ...named("api", serviceOf("--api", said.api, api, said.found?.api, reading)),
    ...named(
      "provisioner",
      serviceOf("--provisioner", said.provisioner, provisioner, said.found?.provisioner, reading),
    ),
  };
}

const named = <K extends string>(name: K, service: NamedService | undefined): { readonly [N in K]?: NamedService } =>
  service === undefined ? {} : ({ [name]: service } as { readonly [N in K]?: NamedService });

/** A token set for one address is not sent to another one: neither a configured token to an address of the command line
 * nor the reverse. */
function serviceOf(
  flag: string,
  said: SaidService = {},
  set: {
    readonly url: { readonly by: string; readonly text: string | undefined };
    readonly tokenFile: string | undefined;
  },
  found: SaidService | undefined,
  { problems, resolve }: Reading,
): NamedService | undefined {
  const url = said.url ?? set.url.text ?? found?.url;
  if (url === undefined) return undefined;
  if (said.tokenFile !== undefined && said.url === undefined && set.url.text !== undefined) {
    problems.push(
      `a token of the command line is for an address that it names: ${flag} (${set.url.by} is ${set.url.text})`,
    );
    return undefined;
  }
  const tokenFile = said.tokenFile ?? (said.url === undefined ? set.tokenFile : undefined) ?? found?.tokenFile;
  if (!isUrl(url)) {
    problems.push(`${said.url === undefined ? set.url.by : flag}: expected a URL of http or https, found ${url}`);
    return undefined;
  }
  return { url, ...(tokenFile === undefined ? {} : { tokenFile: resolve(tokenFile) }) };
}

const isUrl = (text: string): boolean => URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol);
