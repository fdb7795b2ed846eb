import { type ClusterFlags, defaultDataDirectory, type Invocation, UsageError } from "#kernel/command/index.ts";
import { inFull, readWharfOptions, type ServiceFlags } from "../options.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";

/** Serves wharf-api for a cluster until interrupted, and controls builds if it holds the lease and no `slipway up`
 * does. */
export async function serveWharfApi(invocation: Invocation<ClusterFlags & ServiceFlags>): Promise<number> {
  const { options, environment } = invocation;
  const path = await import("node:path");
  const resolve = (file: string) => path.resolve(environment.directory, file);
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  // The other parts run in processes of their own by default.
  const others = { aggregator: "off", watchdog: "off" };
  const given = readWharfOptions(
    { options: inFull(options, "wharfListen"), variable: environment.variable, resolve },
    settings,
    undefined,
    others,
  );
  if (!given.ok) throw new UsageError(given.error.join("\n"));
  const { listen, ...more } = given.value;
  if (listen === undefined) throw new UsageError("a server without an address: --wharf-listen is off");
  // The server was asked for: an address in use is an error, even the default one.
  const wharf = { ...more, listen: { ...listen, isUsual: false } };
  // A `slipway up` of the same directory has its own stores there.
  const dataDir = options.dataDir ?? path.join(defaultDataDirectory(environment), "wharf-api");
  return await invocation.host.serveCluster(
    { ...invocation, options: { ...options, dataDir } },
    {
      language: "wharf",
      dialectOptions: { wharf },
      besideOwn: { wharf: { ...wharf, part: "api", aggregator: "off", watchdog: "off" } },
      leaseName: "slipway-wharf-api",
    },
  );
}
