import { err, ok, type Result } from "#lib/base/index.ts";
import { type ApiClient, type Connection, getOrUndefined, isAllowed } from "#kernel/kit/index.ts";
import { Secret, type Stored } from "#kernel/model/index.ts";
import { clusterOf, credentialType, readCluster } from "./cluster-secret.ts";
import type { Clusters, KnownCluster } from "./delivery.ts";

export interface ClusterConnectionsOptions {
  /** The controller's own, which may read the Secrets. */
  readonly client: ApiClient;
  readonly systemNamespace: string;
  readonly connect: (connection: Connection) => ApiClient;
}

interface Opened {
  readonly version: string;
  readonly client: ApiClient;
}

/** Clients of joined clusters, one for each, made anew when the Secret changes. */
export class ClusterConnections {
  readonly #options: ClusterConnectionsOptions;
  readonly #opened = new Map<string, Opened>();

  constructor(options: ClusterConnectionsOptions) {
    this.#options = options;
  }

  /**
   * The clusters as one application sees them. `local` acts with its rights; the others with the cluster's credentials,
   * which each writer needs the right to use: `create` on `clustergateways/proxy` in group `cluster.core.oam.dev`.
   */
  forApplication(local: ApiClient): Clusters {
    return {
      client: async (cluster, signal = new AbortController().signal): Promise<Result<ApiClient, string>> => {
        if (cluster === "local" || cluster === "") return ok(local);
        const secret = await this.#secretOf(cluster, signal);
        if (secret === undefined) return err(`failed to get cluster ${cluster}`);
        const right = { verb: "create", group: "cluster.core.oam.dev", resource: "clustergateways" } as const;
        if (!(await isAllowed(local, { ...right, subresource: "proxy", name: cluster }, signal)))
          return err(
            `the application may not use cluster ${cluster}: its writers, or the controllers on a Kubernetes cluster, need the right to create clustergateways/proxy in group cluster.core.oam.dev`,
          );
        return this.#open(secret);
      },
      list: (signal) => this.list(signal),
    };
  }

  /** `local` first, then the joined clusters by name. */
  async list(signal?: AbortSignal): Promise<readonly KnownCluster[]> {
    const { client, systemNamespace: namespace } = this.#options;
    const options = signal === undefined ? {} : { signal };
    const { items } = await client.list(Secret, { namespace, labelSelector: credentialType, ...options });
    return [{ name: "local", labels: {} }, ...items.map(clusterOf)];
  }

  async close(): Promise<void> {
    const opened = [...this.#opened.values()];
    this.#opened.clear();
    await Promise.all(opened.map(({ client }) => client.close()));
  }

  async #secretOf(cluster: string, signal: AbortSignal): Promise<Stored | undefined> {
    const { client, systemNamespace: namespace } = this.#options;
    const secret = await getOrUndefined(client, { type: Secret, namespace, name: cluster }, signal);
    return secret?.metadata.labels?.[credentialType] === undefined ? undefined : secret;
  }

  #open(secret: Stored): Result<ApiClient, string> {
    const { name, resourceVersion: version } = secret.metadata;
    const known = this.#opened.get(name);
    if (known?.version === version) return ok(known.client);
    const connection = readCluster(secret);
    if (!connection.ok) return connection;
    const client = this.#options.connect(connection.value);
    this.#opened.set(name, { version, client });
    void known?.client.close();
    return ok(client);
  }
}
