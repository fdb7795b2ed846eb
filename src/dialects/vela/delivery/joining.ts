import { type ApiClient, getOrUndefined, refTo, secretText } from "#kernel/kit/index.ts";
import { isAlreadyExists, type KubeObject, Namespace, Secret } from "#kernel/model/index.ts";
import { ResourceTracker } from "../kinds.ts";
import { clusterOf, credentialType } from "./cluster-secret.ts";
import { decodeTracker } from "./tracker.ts";

/** Stores the Secret of a cluster, in place of an earlier one of the same name. */
export async function joinCluster(client: ApiClient, secret: KubeObject, signal: AbortSignal): Promise<void> {
  const { namespace = "" } = secret.metadata;
  try {
    await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, { signal });
  } catch (thrown) {
    if (!isAlreadyExists(thrown)) throw thrown;
  }
  const known = await getOrUndefined(client, refTo(Secret, secret), signal);
  if (known === undefined) return void (await client.create(Secret, secret, { signal }));
  if (known.metadata.labels?.[credentialType] === undefined)
    throw new Error(`Secret ${namespace}/${known.metadata.name} exists and does not belong to a cluster`);
  const { resourceVersion, uid } = known.metadata;
  await client.update(Secret, { ...secret, metadata: { ...secret.metadata, resourceVersion, uid } }, { signal });
}

export interface JoinedCluster {
  readonly name: string;
  readonly endpoint: string;
  readonly credential: string;
  readonly labels: Readonly<Record<string, string>>;
}

export async function listClusters(
  client: ApiClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly JoinedCluster[]> {
  const { items } = await client.list(Secret, { namespace, labelSelector: credentialType, signal });
  return [
    { name: "local", endpoint: "-", credential: "-", labels: {} },
    ...items.map((secret) => ({
      ...clusterOf(secret),
      endpoint: secretText(secret, "endpoint") ?? "",
      credential: secret.metadata.labels?.[credentialType] ?? "",
    })),
  ];
}

/** Forgets a cluster. Refused, with the reason, while applications have objects there, which would be lost. */
export async function detachCluster(
  client: ApiClient,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ref = { type: Secret, namespace, name };
  const secret = await getOrUndefined(client, ref, signal);
  if (secret?.metadata.labels?.[credentialType] === undefined) return `failed to get cluster ${name}`;
  const { items } = await client.list(ResourceTracker, { signal });
  const users = items.filter((item) => decodeTracker(item).objects.some(({ cluster }) => cluster === name));
  if (users.length > 0) {
    const names = users.map(({ metadata }) => metadata.name).join(", ");
    return `cluster ${name} still has objects of applications, tracked by ${names}; delete them first`;
  }
  await client.delete(ref, { preconditions: { uid: secret.metadata.uid }, signal });
  return undefined;
}
