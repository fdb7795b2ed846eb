import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Build, kinds, Worker } from "#dialects/wharf/kinds.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import {
  createApiServer,
  ensureAdminToken,
  ensureCertificates,
  openStore,
  writeKubeconfig,
} from "#kernel/apiserver/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";

// B9e: the Kubernetes API that the parts of the hosted system work for, without controllers of its own, and an engine whose workers are announced by hand.

/** Where both are. */
export interface BuildsCluster {
  readonly kubeconfig: string;
  /** `http://host:port` */
  readonly engine: string;
}

const namespace = "default";
let client: ApiClient | undefined;

export async function start({ dir }: { readonly dir: string }): Promise<BuildsCluster> {
  const store = await openStore(`${dir}/store`);
  const definitions = toCrds([...kinds, RunAction]);
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0", definitions });
  const tls = await ensureCertificates(`${dir}/pki`, systemClock.now());
  const token = await ensureAdminToken(store);
  const { url } = await server.listen({ port: 0, tls });
  const kubeconfig = `${dir}/kubeconfig`;
  await writeKubeconfig(kubeconfig, { url, caPem: tls.ca, token });
  client = server.client();
  return { kubeconfig, engine: `http://127.0.0.1:${await listen()}` };
}

/** Takes every build and ends every worker. */
async function listen(): Promise<number> {
  let workers = 0;
  const engine = createServer((request, response) => {
    request.resume();
    if (request.method !== "POST") return void response.writeHead(204).end();
    response.writeHead(201, { "content-type": "application/json" }).end(`{"workerId":"worker-${++workers}"}`);
  });
  await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
  return (engine.address() as AddressInfo).port;
}

/** From now on there is a worker that runs a build, and answers at an address. */
export async function announce({ build, address }: { readonly build: number; readonly address: string }) {
  const name = `worker-${build}`;
  await cluster().create<Worker>(Worker, {
    apiVersion: "wharf.slipway.dev/v1alpha1",
    kind: "Worker",
    metadata: { name, namespace },
    spec: { buildRef: build },
  });
  const body = { status: { workerId: name, status: "Running", address } };
  await cluster().patch({ type: Worker, namespace, name }, { type: "merge", body }, { subresource: "status" });
}

/** Resolves with what the build has come to. */
export async function outcome({ build }: { readonly build: number }): Promise<string> {
  const over = new AbortController();
  try {
    for await (const event of cluster().watch<Build>(Build, { namespace, signal: over.signal })) {
      if (event.type === "BOOKMARK" || event.object.spec.buildId !== build) continue;
      const { status = "" } = event.object.status ?? {};
      if (status === "Completed" || status === "Failed") return status;
    }
  } finally {
    over.abort();
  }
  throw new Error(`build ${build} was not watched to its end`);
}

/** The worker is gone, and everything of its build goes. */
export async function remove({ build }: { readonly build: number }): Promise<void> {
  await cluster().delete({ type: Worker, namespace, name: `worker-${build}` });
  await cluster().delete({ type: Build, namespace, name: `build-${build}` });
}

function cluster(): ApiClient {
  if (client === undefined) throw new Error("nothing was started");
  return client;
}
