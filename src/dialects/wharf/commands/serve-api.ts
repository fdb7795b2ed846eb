import { type ClusterFlags, defaultDataDirectory, type Invocation, UsageError } from "#kernel/command/index.ts";
import { inFull, readWharfOptions, type ServiceFlags } from "../options.ts";
import { readWharfSettings, settingsCode } from "./settings.ts";

/**
 * `slipway wharf api serve`: wharf-api for the control plane or the cluster of a kubeconfig, until a signal. A control plane of `slipway up` controls
 * builds itself; for a cluster this process does, if it holds the lease. Logs and artifacts are in a directory of its own.
 */
export async function serveWharfApi(invocation: Invocation<ClusterFlags & ServiceFlags>): Promise<number> {
  const { options, environment } = invocation;
  const path = await import("node:path");
  const resolve = (file: string) => path.resolve(environment.directory, file);
  const settings = await readWharfSettings(environment, options.loglevel);
  if (settings === undefined) return settingsCode;
  // The other parts are processes of their own, unless somebody wants them in this one.
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
  // Somebody wants a server and no other part: an address that is taken is a failure, also the usual one.
  const wharf = { ...more, listen: { ...listen, isUsual: false } };
  // A `slipway up` of the same directory has stores of its own there.
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
