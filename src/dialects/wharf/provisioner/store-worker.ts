import type { Random } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { type ApiClient, refTo } from "#kernel/kit/index.ts";
import {
  apiVersionOf,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  Secret,
  type Stored,
} from "#kernel/model/index.ts";
import { Build, Worker } from "../kinds.ts";
import { type Parameters, secretParameters, type WorkerRequest } from "./parameters.ts";
import type { ProvisionerSettings } from "./settings.ts";

export const finalizer = "wharf.slipway.dev/worker";
export const forceAnnotation = "wharf.slipway.dev/force";
export const workerLabel = "wharf.slipway.dev/worker";

export interface WorkerStore {
  readonly client: ApiClient;
  readonly settings: Pick<ProvisionerSettings, "namespace" | "instance">;
  readonly random: Random;
}

interface StoredWorker {
  readonly worker: Stored<Worker>;
  /** False if the build has a worker, possibly with other parameters. */
  readonly isNew: boolean;
}

/** Stores a worker, which guarantees its start; one per build. Secret parameters are stored first under a random name;
 * the loser of a race deletes its own, and leftovers are swept. */
export async function storeWorker(
  store: WorkerStore,
  parameters: Parameters,
  request: WorkerRequest,
): Promise<StoredWorker> {
  const { client, settings, random } = store;
  const { namespace } = settings;
  const name = workerName(request.instance, request.buildRef, random);
  const ref = { type: Worker, namespace, name };
  const known = await found<Worker>(client.get<Worker>(ref));
  if (known !== undefined) return { worker: known, isNew: false };
  const secret = await storeSecret(store, name, secretsOf(parameters, request));
  try {
    const worker = await client.create<Worker>(Worker, await resourceOf(store, name, parameters, request, secret));
    return { worker, isNew: true };
  } catch (thrown) {
    // A leftover is swept at the next start.
    if (secret !== undefined) await client.delete(refTo(Secret, secret)).catch(() => undefined);
    if (!isAlreadyExists(thrown)) throw thrown;
    return { worker: await client.get<Worker>(ref), isNew: false };
  }
}

async function found<T extends KubeObject>(answer: Promise<Stored<T>>): Promise<Stored<T> | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}

/** An address with credentials is secret too. */
function secretsOf(parameters: Parameters, { source }: WorkerRequest): Parameters {
  const entries = Object.entries(parameters).filter(
    ([name, text]) => secretParameters.has(name) && text !== "" && name !== "token",
  );
  const address = parameters["GIT_FULLURL"];
  const holdsCredential = source.user !== undefined || source.password !== undefined;
  return {
    ...Object.fromEntries(entries),
    ...(holdsCredential && address !== undefined ? { GIT_FULLURL: address } : {}),
  };
}

async function storeSecret(
  { client, settings, random }: WorkerStore,
  worker: string,
  secrets: Parameters,
): Promise<Stored | undefined> {
  const entries = Object.entries(secrets);
  if (entries.length === 0) return undefined;
  const name = `${worker}-${Math.floor(random() * 36 ** 8).toString(36)}`;
  return await client.create(Secret, {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: { name, namespace: settings.namespace, labels: { [workerLabel]: worker } },
    type: "Opaque",
    data: Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
  } as KubeObject);
}

export function parametersIn(secret: KubeObject): Parameters {
  const data = "data" in secret && typeof secret.data === "object" && secret.data !== null ? secret.data : {};
  return Object.fromEntries(
    Object.entries(data).map(([key, text]) => [key, Buffer.from(String(text), "base64").toString()]),
  );
}

async function resourceOf(
  store: WorkerStore,
  name: string,
  parameters: Parameters,
  { buildRef, projectId, instance, source }: WorkerRequest,
  secret: Stored | undefined,
): Promise<Worker> {
  const { namespace } = store.settings;
  const args = Object.entries(parameters).filter(
    ([parameter, text]) => !secretParameters.has(parameter) && text !== "",
  );
  const owner = await buildOf(store, buildRef, instance);
  return {
    apiVersion: apiVersionOf(Worker),
    kind: "Worker",
    metadata: {
      name,
      namespace,
      finalizers: [finalizer],
      labels: {
        "wharf.iver.com/instance": instance,
        "wharf.iver.com/build-ref": `${buildRef}`,
        "wharf.iver.com/project-id": `${projectId}`,
      },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      buildRef,
      args: { ...Object.fromEntries(args), GIT_FULLURL: source.url },
      ...(secret === undefined ? {} : { secretName: secret.metadata.name }),
    },
  };
}

/** The owning Build, unless it is another installation's. */
async function buildOf({ client, settings }: WorkerStore, buildRef: number, instance: string) {
  if (buildRef === 0 || instance !== settings.instance) return undefined;
  const build = await found<Build>(
    client.get<Build>({ type: Build, namespace: settings.namespace, name: `build-${buildRef}` }),
  );
  if (build === undefined) return undefined;
  const { name, uid } = build.metadata;
  return { apiVersion: apiVersionOf(Build), kind: Build.kind, name, uid, blockOwnerDeletion: true, controller: true };
}

const prefix = "wharf-cmd-worker";

/** Keeps the whole name within a label. */
const longestInstance = 28;

const letters = "abcdefghijkmnpqrstuvwxyz23456789";

/** Derived from the build, so that repeated requests find the same worker; random for build 0. */
export function workerName(instance: string, buildRef: number, random: Random): string {
  const own =
    buildRef > 0
      ? `${buildRef}`
      : `x${Array.from({ length: 10 }, () => letters[Math.floor(random() * letters.length)]).join("")}`;
  return `${prefix}-${asName(instance)}-${own}`;
}

/** A changed name gets a hash: instances must not share workers. */
function asName(instance: string): string {
  const name = instance.toLowerCase().replace(/[^a-z0-9-]/g, "-");
  if (name === instance && name.length <= longestInstance) return name;
  return `${name.slice(0, longestInstance - 9).replace(/-+$/, "")}-${hashName([instance], 8)}`;
}
