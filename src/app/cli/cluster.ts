import type { ClusterOptions } from "#app/server/index.ts";
import { SlipwayError, silentLog } from "#lib/base/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import type { Invocation, OptionSpec } from "./command.ts";
import { namedKubeconfig } from "./connect.ts";
import { defaultDataDirectory } from "./environment.ts";
import { exitCode } from "./exit-codes.ts";
import { noteDirectories } from "./noted-servers.ts";

// What commands have in common that are at work for somebody's cluster.

/** Options of such commands; absent flags were not given. */
export interface ClusterFlags {
  /** Takes the right to change CustomResourceDefinitions. */
  readonly installCrds?: boolean;
  /** Means nothing to servers of agents, of which there may be any number. */
  readonly leaseNamespace?: string;
  /** As typed. */
  readonly dataDir?: string;
  /** Of the log on stderr. */
  readonly logLevel: "error" | "warn" | "info" | "debug";
  /** The same, as people of Wharf call it; it wins. */
  readonly loglevel?: ClusterFlags["logLevel"];
}

const heading = "On a cluster:";

/** The options that `ClusterFlags` are read from. */
export const clusterOptions: readonly OptionSpec[] = [
  { flags: "--install-crds", summary: "bring the definitions of our kinds up to date first", heading },
  {
    flags: "--lease-namespace <name>",
    summary: "where the lease is by which one of several processes acts (default: the namespace of the kubeconfig)",
    heading,
  },
  {
    flags: "--data-dir <folder>",
    summary: "where files are kept (default: $SLIPWAY_DATA_DIR or ~/.slipway)",
    heading,
  },
  {
    flags: "--log-level <level>",
    summary: "what is logged",
    choices: ["error", "warn", "info", "debug"],
    initial: "info",
    heading,
  },
];

/** What a command decides beside what `ClusterFlags` say. */
export interface ClusterWork
  extends Pick<ClusterOptions, "language" | "dialectOptions" | "isForAny" | "besideOwn" | "besideOwnIf" | "looksAt"> {
  /** The lease for whose holder alone this is; absent where any number of processes may do it. */
  readonly leaseName?: string;
}

/**
 * Is at work for the cluster that was named, or in which this process is a Pod, until a signal, which is how it ends: with 0. Rejects when it
 * cannot begin, or has lost its lease.
 */
export async function serveCluster(invocation: Invocation<ClusterFlags>, work: ClusterWork): Promise<number> {
  const { options, environment, clock, signal } = invocation;
  const server = await import("#app/server/index.ts");
  const { version } = await import("./version.ts");
  const path = await import("node:path");
  const connection = await connectionOf(invocation);
  const { leaseName, ...parts } = work;
  const namespace = options.leaseNamespace ?? options.namespace ?? connection.namespace ?? "default";
  invocation.process.outliveOutputs();
  await server.serveCluster({
    ...parts,
    connection,
    ...(leaseName === undefined ? {} : { lease: { namespace, name: leaseName } }),
    notes: noteDirectories(environment),
    installsDefinitions: options.installCrds === true,
    directory: path.resolve(environment.directory, options.dataDir ?? defaultDataDirectory(environment)),
    clock,
    version,
    level: options.loglevel ?? options.logLevel,
    isTerminal: environment.err.isTerminal,
    onPort: ({ serves, address, trouble }) => environment.out.write(`${serves}: ${trouble ?? address}\n`),
    signal,
  });
  process.exitCode = exitCode.succeeded;
  return exitCode.succeeded;
}

/** The one that was named, else that of the Pod this process is in: never one that happens to be usual. */
async function connectionOf({ options, environment, clock }: Invocation<ClusterFlags>): Promise<Connection> {
  const { inClusterConnection, loadKubeconfig } = await import("#kernel/kit/index.ts");
  const named = namedKubeconfig(options, environment);
  if (named !== undefined)
    return await loadKubeconfig({
      files: [named],
      ...(options.context === undefined ? {} : { context: options.context }),
      environment: environment.all,
      clock,
      log: silentLog,
    });
  const inside = await inClusterConnection(environment.all, clock);
  if (inside !== undefined) return inside;
  throw new SlipwayError("no-cluster", "no cluster was named, and this process is in none", {
    hint: "name one with: --kubeconfig FILE\nslipway up needs none: it is a control plane with controllers of its own",
  });
}
