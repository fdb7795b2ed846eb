import { setMaxListeners } from "node:events";
import { copyFile } from "node:fs/promises";
import { silentLog, sleep, systemClock } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import { writeKubeconfig } from "#kernel/apiserver/index.ts";
import { startTestServer } from "#kernel/apiserver/testing/index.ts";
import { type ApiClient, createHttpClient, installCrds, loadKubeconfig } from "#kernel/kit/index.ts";
import {
  CustomResourceDefinition,
  isInvalid,
  isNotFound,
  Namespace,
  type ResourceType,
  type Stored,
} from "#kernel/model/index.ts";
import { loadDialects } from "#dialects/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { clusterDefinitions } from "#app/server/index.ts";
import { type Api, openApi } from "#test/conformance/kubernetes/cluster/suite/api.ts";

// Tests of controllers have a server of our own, unless $KUBECONFIG_UNDER_TEST names a cluster: then they have that one, all of them the same, one
// after the other.

/** The kubeconfig of that cluster; undefined where tests have servers of their own. */
export const kubeconfigUnderTest: string | undefined = process.env["KUBECONFIG_UNDER_TEST"];

/** All objects of our kinds are deleted there, which must not happen to somebody's machines. */
const consent = "slipway.dev/under-test";

/** That cluster as its administrator, for one test or one file of them. */
export interface ClusterUnderTest {
  readonly kubeconfig: string;
  readonly client: ApiClient;
  /** Requests as they are. */
  readonly api: Api;
  /** Ends the connections; what was made stays until the cluster is opened again. */
  close(): Promise<void>;
}

/** Opens it as if nobody had used it: without any object of our kinds, with their definitions or without. */
export async function openClusterUnderTest(
  kubeconfig: string,
  as: "defined" | "bare" = "defined",
): Promise<ClusterUnderTest> {
  const parts = { clock: systemClock, log: silentLog, random: Math.random };
  const connection = await loadKubeconfig({ ...parts, files: [kubeconfig], environment: process.env });
  const client = createHttpClient({ ...parts, connection });
  await expectConsent(client, kubeconfig);
  const api = await openApi(kubeconfig);
  await clean(client, api);
  const definitions = await clusterDefinitions();
  if (as === "bare") for (const { metadata } of definitions) await removeDefinition(client, metadata.name);
  else {
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    await installCrds(client, definitions, { ...parts, signal });
  }
  return {
    kubeconfig,
    client,
    api,
    async close() {
      api.close();
      await client.close();
    },
  };
}

async function expectConsent(client: ApiClient, kubeconfig: string): Promise<void> {
  const { metadata } = await client.get({ type: Namespace, name: "default" });
  if (metadata.labels?.[consent] === undefined)
    throw new Error(
      `tests delete all objects of our kinds in the cluster of ${kubeconfig}; if they may: kubectl label namespace default ${consent}=true`,
    );
}

/** Clusters tell by the second when an object was made, and names decide within one: what is made next is younger by its time. */
export async function untilNextInstant(): Promise<void> {
  if (kubeconfigUnderTest !== undefined) await sleep(systemClock, 1_000 - (systemClock.now() % 1_000));
}

/** Deletes all objects of our kinds, whoever holds them, with the events and leases of the namespace they are in. */
async function clean(client: ApiClient, api: Api): Promise<void> {
  const dialects = await loadDialects();
  const kinds: readonly Kind[] = [sharedOf(dialects), ...dialects].flatMap((owner) => owner.kinds);
  for (const kind of kinds) await empty(client, kind);
  for (const kind of kinds) await expectEmpty(client, kind);
  for (const path of ["events.k8s.io/v1/namespaces/default/events", "coordination.k8s.io/v1/namespaces/default/leases"])
    await api.ask("DELETE", `/apis/${path}`);
}

async function empty(client: ApiClient, type: ResourceType): Promise<void> {
  for (const { metadata } of await listed(client, type)) {
    const { name, namespace } = metadata;
    const ref = { type, name, ...(namespace === undefined ? {} : { namespace }) };
    const release = client.patch(ref, { type: "merge", body: { metadata: { finalizers: null } } });
    await unlessGone(release).catch((thrown: unknown) => {
      // It is of the other version, whose turn comes.
      if (!isInvalid(thrown)) throw thrown;
    });
    await unlessGone(client.delete(ref));
  }
}

async function expectEmpty(client: ApiClient, type: ResourceType): Promise<void> {
  const left = await listed(client, type);
  if (left.length > 0) throw new Error(`${left.length} ${type.plural} do not go: something is at work on the cluster`);
}

/** Nothing where the definition is not there. */
const listed = (client: ApiClient, type: ResourceType): Promise<readonly Stored[]> =>
  client.list(type).then(
    ({ items }) => items,
    (thrown: unknown) => {
      if (isNotFound(thrown)) return [];
      throw thrown;
    },
  );

async function removeDefinition(client: ApiClient, name: string): Promise<void> {
  const ref = { type: CustomResourceDefinition, name };
  await unlessGone(client.delete(ref));
  const isGone = () => client.get(ref).then(() => false, isNotFound);
  while (!(await isGone())) await sleep(systemClock, 50);
}

const unlessGone = (write: Promise<unknown>): Promise<unknown> =>
  write.catch((thrown: unknown) => {
    if (!isNotFound(thrown)) throw thrown;
  });

/** The cluster under test without our definitions, or a server of our own that is as bare; its kubeconfig is written to `file`. */
export async function openBareCluster(file: string): Promise<{ close(): Promise<void> }> {
  if (kubeconfigUnderTest === undefined) {
    const own = await startTestServer();
    await writeKubeconfig(file, { url: own.url, caPem: own.ca, token: own.token });
    return own;
  }
  await copyFile(kubeconfigUnderTest, file);
  return await openClusterUnderTest(kubeconfigUnderTest, "bare");
}
