import { err, type Millis, ok, type Result } from "#lib/base/index.ts";
import {
  OptionReader,
  type OptionSources,
  type OptionSpec,
  prefixedFlag,
  prefixedOption,
} from "#kernel/command/index.ts";
import type { ListenChoice, ServerOptions } from "#kernel/dialect/index.ts";
import { type AggregatorChoice, aggregatorOf, type WatchdogChoice, watchdogOf } from "./commands/service-clients.ts";
import { originsOf, readWharfSettings } from "./commands/settings.ts";
import { workerProgram } from "./commands/worker-program.ts";
import type { Configuration } from "./configuration/keys.ts";
import type { BackendParts } from "./provisioner/open-backend.ts";

export interface WharfOptions {
  readonly listen?: ListenChoice;
  /** Absolute path of the token that clients must present; a random token if absent. */
  readonly tokenFile?: string;
  readonly allowsAnonymous?: boolean;
  readonly origins?: readonly string[];
  readonly namespace?: string;
  readonly instance?: string;
  /** The engine to use instead of this server's provisioner. */
  readonly engineUrl?: string;
  /** Absolute path of the token for `engineUrl`. This server's own token is never sent there. */
  readonly engineTokenFile?: string;
  /** How long an unresponsive engine is retried before the build fails. */
  readonly triggerDeadlineMs?: Millis;
  readonly provisioner?: ProvisionerOptions;
  readonly aggregator?: AggregatorChoice | "off";
  /** Runs only this part; `api` is wharf-api without the build controllers. All parts if absent. */
  readonly part?: "aggregator" | "api" | "provisioner" | "watchdog";
  readonly watchdog?: WatchdogChoice | "off";
}

export interface ProvisionerOptions extends Pick<BackendParts, "program" | "runtime" | "backend"> {
  readonly listen: ListenChoice;
  readonly origins?: readonly string[];
  readonly maxWorkers?: number;
  readonly drainMs?: number;
  readonly allowLocalRepos?: boolean;
}

type WorkerProgram = Pick<ProvisionerOptions, "program" | "runtime">;

/** Default address of wharf-api; if the port is in use another one is chosen. */
export const usualWharfListen = "127.0.0.1:5001";

const usualProvisionerListen = "127.0.0.1:5009";

interface Row {
  readonly name: string;
  readonly value?: string;
  readonly summary: string;
  /** The service that has this option when it is served alone. */
  readonly of: "api" | "both" | "provisioner";
  /** Key in the configuration file, and the unit of its numbers. */
  readonly key?:
    | "api.http.bindAddress"
    | "instanceId"
    | `provisioner.${"backend" | "drain" | "http.bindAddress" | "maxWorkers"}`;
  readonly unit?: string;
}

const rows: readonly Row[] = [
  {
    name: "listen",
    value: "address",
    summary: `HOST:PORT of wharf-api, or off (default: ${usualWharfListen} with the first Build)`,
    of: "api",
    key: "api.http.bindAddress",
  },
  {
    name: "auth-token-file",
    value: "file",
    summary: "bearer token that clients must present (default: a random one)",
    of: "both",
  },
  { name: "anonymous-auth", summary: "also serve clients without credentials", of: "both" },
  {
    name: "namespace",
    value: "name",
    summary: "namespace of projects created over REST (default: default)",
    of: "both",
  },
  {
    name: "instance",
    value: "name",
    summary: "name of this installation, part of worker names (default: local)",
    of: "both",
    key: "instanceId",
  },
  {
    name: "aggregator",
    value: "how",
    summary: "transfer results of workers to wharf-api: on or off (default: on)",
    of: "api",
  },
  {
    name: "watchdog",
    value: "how",
    summary: "end workers and builds that lost each other: on or off (default: on)",
    of: "api",
  },
  {
    name: "engine-url",
    value: "url",
    summary: "URL of the engine that runs workers (default: this user's provisioner)",
    of: "api",
  },
  { name: "engine-token-file", value: "file", summary: "file of the bearer token for the engine", of: "api" },
  {
    name: "provisioner-listen",
    value: "address",
    summary: `HOST:PORT of the provisioner, or off (default: ${usualProvisionerListen})`,
    of: "provisioner",
    key: "provisioner.http.bindAddress",
  },
  {
    name: "backend",
    value: "name",
    summary: "how workers run: host (default), docker or kubernetes",
    of: "provisioner",
    key: "provisioner.backend",
  },
  {
    name: "max-workers",
    value: "n",
    summary: "maximum number of builds at once (default: unlimited)",
    of: "provisioner",
    key: "provisioner.maxWorkers",
  },
  {
    name: "drain",
    value: "time",
    summary: "how long a deleted worker serves its results (default: 1m)",
    of: "provisioner",
    key: "provisioner.drain",
    unit: "ms",
  },
];

const heading = "Wharf:";
const [option, flag] = [prefixedOption("wharf", heading), prefixedFlag("wharf", heading)];
const specsOf = (chosen: readonly Row[]): readonly OptionSpec[] =>
  chosen.map(({ name, value, summary }) => (value === undefined ? flag(name, summary) : option(name, value, summary)));

/** Options of `slipway up` for Wharf. They have no defaults here because a variable may set them. */
export const wharfOptions = specsOf(rows);
export const wharfApiOptions = specsOf(rows.filter((row) => row.of !== "provisioner"));
export const wharfProvisionerOptions = specsOf(rows.filter((row) => row.of !== "api"));

/** Settings as texts of the options they stand for, so that they are checked in the same way. */
const optionTexts = (settings: Configuration) =>
  rows.flatMap(({ name, key, unit = "" }) => {
    const value = key && settings[key];
    return key === undefined || value === undefined ? [] : [[name, { by: key, text: `${value}${unit}` }] as const];
  });

export interface ServiceFlags {
  readonly authTokenFile?: string;
  readonly address?: string;
}

/** Short options under their long names; long ones win. `listen` is the long name of `address`. */
export const inFull = (
  { authTokenFile, address, ...options }: ServiceFlags,
  listen: "wharfListen" | "wharfProvisionerListen",
): Readonly<Record<string, unknown>> => ({
  ...(authTokenFile === undefined ? {} : { wharfAuthTokenFile: authTokenFile }),
  ...(address === undefined ? {} : { [listen]: address }),
  ...options,
});

/** Reads the settings of Wharf from options, their variables and the configuration file, in this order of precedence.
 * `usual` are defaults by option name. Without `workers` no provisioner is configured. */
export function readWharfOptions(
  sources: OptionSources,
  settings: Configuration = {},
  workers?: WorkerProgram,
  usual: Readonly<Record<string, string>> = {},
): Result<WharfOptions, readonly string[]> {
  const texts = Object.entries(usual).map(([name, text]) => [name, { by: name, text }] as const);
  const reader = new OptionReader("wharf", sources, new Map([...texts, ...optionTexts(settings)]));
  const reading = { problems: reader.problems, resolve: sources.resolve };
  const listen = reader.listen("listen", usualWharfListen);
  const tokenFile = reader.file("auth-token-file");
  const [namespace, instance] = [nameOf(reader, "namespace"), nameOf(reader, "instance")];
  const engineUrl = reader.text("engine-url");
  if (engineUrl !== undefined && !/^https?:$/.test(URL.canParse(engineUrl) ? new URL(engineUrl).protocol : ""))
    reader.problems.push(`--wharf-engine-url: expected a URL of http or https, found ${JSON.stringify(engineUrl)}`);
  const engineTokenFile = reader.file("engine-token-file");
  if (engineTokenFile !== undefined && engineUrl === undefined)
    reader.problems.push("--wharf-engine-token-file is for --wharf-engine-url, which is not given");
  const isOff = (part: string): boolean => reader.oneOf(part, ["on", "off"]) === "off";
  const aggregator = isOff("aggregator") ? "off" : aggregatorOf(settings, {}, reading);
  const watchdog = isOff("watchdog") ? "off" : watchdogOf(settings, {}, reading);
  const [origins, triggerDeadlineMs] = [originsOf("api", settings), settings["trigger.deadline"]];
  const given: WharfOptions = {
    ...(listen === undefined ? {} : { listen }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(reader.flag("anonymous-auth") ? { allowsAnonymous: true } : {}),
    ...(namespace === undefined ? {} : { namespace }),
    ...(instance === undefined ? {} : { instance }),
    ...(engineUrl === undefined ? {} : { engineUrl }),
    ...(engineTokenFile === undefined ? {} : { engineTokenFile }),
    ...(isUnsaid(aggregator) ? {} : { aggregator }),
    ...(isUnsaid(watchdog) ? {} : { watchdog }),
    ...(origins === undefined ? {} : { origins }),
    ...(triggerDeadlineMs === undefined ? {} : { triggerDeadlineMs }),
  };
  const provisioner = workers && provisionerOf(reader, settings, workers);
  const all = provisioner === undefined ? given : { ...given, provisioner };
  return reader.problems.length > 0 ? err(reader.problems) : ok(all);
}

const isUnsaid = (choice: object | "off"): boolean => typeof choice === "object" && Object.keys(choice).length === 0;

function provisionerOf(
  reader: OptionReader,
  settings: Configuration,
  workers: WorkerProgram,
): ProvisionerOptions | undefined {
  const listen = reader.listen("provisioner-listen", usualProvisionerListen);
  const maxWorkers = reader.number("max-workers", "a whole number", Number.isInteger);
  const drainMs = reader.duration("drain", "zero");
  const backend = reader.oneOf("backend", ["host", "docker", "kubernetes"]);
  if (listen === undefined) return undefined;
  const origins = originsOf("provisioner", settings);
  // Containers cannot see this machine's repositories.
  const isLocal = (backend ?? "host") === "host" && /^(?:127\.|localhost:|\[::1\])/.test(listen.address);
  return {
    listen,
    ...workers,
    allowLocalRepos: settings["provisioner.allowLocalRepos"] ?? isLocal,
    ...(backend === undefined || backend === "host" ? {} : { backend: { name: backend, settings } }),
    ...(origins === undefined ? {} : { origins }),
    ...(maxWorkers === undefined ? {} : { maxWorkers }),
    ...(drainMs === undefined ? {} : { drainMs }),
  };
}

function nameOf(reader: OptionReader, name: string): string | undefined {
  const text = reader.text(name);
  if (text === undefined || /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  reader.problem(name, `expected lower-case letters, digits and dashes, found ${JSON.stringify(text)}`);
  return undefined;
}

export const serverOptions: ServerOptions = {
  specs: wharfOptions,
  async read(sources) {
    const settings = await readWharfSettings(sources.environment);
    if (settings === undefined) return err([]);
    const workers = {
      program: workerProgram(sources.environment),
      runtime: sources.runtime === "docker" ? "docker" : "host",
    } as const;
    return readWharfOptions(sources, settings, workers);
  },
  forControllers: { part: "api" } satisfies WharfOptions,
};
