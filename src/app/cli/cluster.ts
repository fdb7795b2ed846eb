import { SlipwayError, silentLog } from "#lib/base/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import {
  type ClusterFlags,
  type ClusterWork,
  dataDirectoryOf,
  exitCode,
  type Invocation,
} from "#kernel/command/index.ts";
import { namedKubeconfig } from "./connect.ts";
import { noteDirectories } from "#kernel/command/index.node.ts";

/**
 * Runs controllers or servers for the named cluster, or for the one in which this process is a Pod, until a signal;
 * resolves with 0 then. Rejects when it cannot start or has lost its lease.
 */
export async function serveCluster(invocation: Invocation<ClusterFlags>, work: ClusterWork): Promise<number> {
  const { options, environment, clock, signal } = invocation;
  const server = await import("#app/server/index.ts");
  const { version } = await import("./version.ts");
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
    directory: dataDirectoryOf(environment, options.dataDir),
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

/** The named cluster, else that of the Pod this process runs in; never a default kubeconfig. */
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
  throw new SlipwayError("no-cluster", "no cluster is named, and this process does not run in one", {
    hint: "name one with: --kubeconfig FILE\nslipway up starts a control plane of its own",
  });
}
