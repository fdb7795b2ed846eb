import { type ClusterFlags, clusterOptions, command } from "#kernel/command/index.ts";

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
  options: clusterOptions,
  async action(invocation) {
    const { serveCluster } = await import("../cluster.ts");
    const { dialects } = await import("#dialects/index.ts");
    const options = dialects.map(({ name, serverOptions }) => [name, serverOptions?.forControllers] as const);
    const dialectOptions = Object.fromEntries(options);
    return await serveCluster(invocation, { leaseName: "slipway-controllers", dialectOptions });
  },
});
