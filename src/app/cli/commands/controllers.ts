import { resolve } from "node:path";
import { type ClusterFlags, clusterOptions, command } from "#kernel/command/index.ts";
import { controllerOptions, readDialectOptions } from "../dialect-options.ts";

/** Exits with 0 after a signal, and with 1 when it cannot start or loses its lease: a supervisor then restarts it. */
export const controllersCommand = command<ClusterFlags>({
  name: "controllers",
  args: [],
  summary: "Run the controllers for a Kubernetes cluster; slipway up is not needed",
  group: "Control plane",
  examples: [
    "slipway controllers --kubeconfig cluster.kubeconfig --install-crds",
    "slipway controllers --kubeconfig cluster.kubeconfig --lease-namespace slipway",
  ],
  options: [...clusterOptions, ...controllerOptions],
  async action(invocation) {
    const { serveCluster } = await import("../cluster.ts");
    const { options, environment } = invocation;
    const { directory, variable } = environment;
    const absolute = (file: string) => resolve(directory, file);
    const sources = { options, variable, resolve: absolute, environment, runtime: "process" } as const;
    const dialectOptions = await readDialectOptions(sources, "controllers");
    return await serveCluster(invocation, { leaseName: "slipway-controllers", dialectOptions });
  },
});
