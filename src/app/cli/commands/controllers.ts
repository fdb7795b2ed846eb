import { type ClusterFlags, clusterOptions } from "../cluster.ts";
import { command } from "../command.ts";

/**
 * Ends with 0 after a signal, and with 1 when it cannot begin or somebody else has become the one who acts: whoever keeps it running starts it
 * again then.
 */
export const controllersCommand = command<ClusterFlags>({
  name: "controllers",
  args: [],
  summary: "Carry out runs on a Kubernetes cluster, for which slipway up is not needed",
  group: "Control plane",
  examples: [
    "slipway controllers --kubeconfig cluster.kubeconfig --install-crds",
    "slipway controllers --kubeconfig cluster.kubeconfig --lease-namespace slipway",
  ],
  options: clusterOptions,
  async action(invocation) {
    const { serveCluster } = await import("../cluster.ts");
    // Agents connect to servers of their own, of which there may be several: slipway tink server.
    // Builds need an engine: slipway wharf api serve.
    const dialectOptions = { tinkerbell: { part: "controller" }, wharf: { part: "api" } } as const;
    return await serveCluster(invocation, { leaseName: "slipway-controllers", dialectOptions });
  },
});
