import type { ServerOptions } from "#kernel/dialect/index.ts";
import { err, ok, type Result } from "#lib/base/index.ts";
import {
  OptionReader,
  type OptionSources,
  type OptionSpec,
  prefixedFlag,
  prefixedOption,
} from "#kernel/command/index.ts";
import { aggregatorOf, watchdogOf } from "./commands/service-clients.ts";
import type { Configuration as WharfSettings } from "./configuration/keys.ts";
import type { WharfOptions } from "./given-options.ts";
import { workerProgram } from "./commands/worker-program.ts";
import { optionTexts, originsOf, readWharfSettings } from "./commands/settings.ts";

type Provisioner = NonNullable<WharfOptions["provisioner"]>;
type WorkerProgram = Pick<Provisioner, "program" | "runtime">;

/** Default address of wharf-api; if the port is in use another one is chosen. */
export const usualWharfListen = "127.0.0.1:5001";

const usualProvisionerListen = "127.0.0.1:5009";

const heading = "Wharf:";
const option = prefixedOption("wharf", heading);

/** Options of `slipway up` for Wharf. They have no defaults here because a variable may set them. */
export const wharfOptions: readonly OptionSpec[] = [
  option("listen", "address", `HOST:PORT of wharf-api, or off (default: ${usualWharfListen} with the first Build)`),
  option("auth-token-file", "file", "bearer token that clients must present (default: a random one)"),
  prefixedFlag("wharf", heading)("anonymous-auth", "also serve clients without credentials"),
  option("namespace", "name", "namespace of projects created over REST (default: default)"),
  option("instance", "name", "name of this installation, part of worker names (default: local)"),
  option("aggregator", "how", "transfer results of workers to wharf-api: on or off (default: on)"),
  option("watchdog", "how", "end workers and builds that lost each other: on or off (default: on)"),
  option("engine-url", "url", "URL of the engine that runs workers (default: this user's provisioner)"),
  option("engine-token-file", "file", "file of the bearer token for the engine"),
  option("provisioner-listen", "address", `HOST:PORT of the provisioner, or off (default: ${usualProvisionerListen})`),
  option("backend", "name", "how workers run: host (default), docker or kubernetes"),
  option("max-workers", "n", "maximum number of builds at once (default: unlimited)"),
  option("drain", "time", "how long a deleted worker serves its results (default: 1m)"),
];

const namedOptions = (names: readonly string[]): readonly OptionSpec[] =>
  wharfOptions.filter(({ flags }) => names.some((name) => flags.split(" ")[0] === `--wharf-${name}`));

export const wharfApiOptions = namedOptions([
  "listen",
  "auth-token-file",
  "anonymous-auth",
  "namespace",
  "instance",
  "aggregator",
  "watchdog",
  "engine-url",
  "engine-token-file",
]);

export const wharfProvisionerOptions = namedOptions([
  "provisioner-listen",
  "auth-token-file",
  "anonymous-auth",
  "namespace",
  "instance",
  "backend",
  "max-workers",
  "drain",
]);

/** Short options of a command that serves one service. */
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

/**
 * Reads the settings of Wharf from options, their variables and the configuration file, in this order of precedence.
 * `usual` are defaults by option name. Without `workers` no provisioner is configured.
 */
export function readWharfOptions(
  sources: OptionSources,
  settings: WharfSettings = {},
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

function provisionerOf(reader: OptionReader, settings: WharfSettings, workers: WorkerProgram): Provisioner | undefined {
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
  // Builds need an engine, which `slipway wharf api serve` starts.
  forControllers: { part: "api" } satisfies WharfOptions,
};
