import type { KubeObject, ResourceType, Status, Stored } from "#kernel/model/index.ts";
import type { ApiClient, WriteOptions } from "../client/api-client.ts";
import type { InformerFactory } from "./informer-factory.ts";

/**
 * The client, with each successful write visible at once in the informers' reads, except those of `createMany`. A
 * deletion that has to wait shows the object as terminating; one that is done at once shows with its event.
 */
export function freshClient(client: ApiClient, informers: InformerFactory): ApiClient {
  const createMany = client.createMany?.bind(client);
  const updateWhole = client.updateWhole?.bind(client);
  /** What is written is noted, except in dry runs. */
  const noted = async <T extends KubeObject>(
    type: ResourceType,
    options: WriteOptions | undefined,
    written: Promise<Stored<T>>,
  ): Promise<Stored<T>> => {
    const stored = await written;
    if (!options?.dryRun) informers.noteWritten(type, stored);
    return stored;
  };
  return {
    ...(createMany && { createMany }),
    ...(updateWhole && {
      updateWhole: (type, object, options) => noted(type, options, updateWhole(type, object, options)),
    }),
    get: (ref, options) => client.get(ref, options),
    list: (type, options) => client.list(type, options),
    watch: (type, options) => client.watch(type, options),
    create: (type, object, options) => noted(type, options, client.create(type, object, options)),
    update: (type, object, options) => noted(type, options, client.update(type, object, options)),
    updateStatus: (type, object, options) => noted(type, options, client.updateStatus(type, object, options)),
    patch: (ref, patch, options) => noted(ref.type, options, client.patch<never>(ref, patch, options)),
    async delete(ref, options) {
      const answer = await client.delete(ref, options);
      if (!options?.dryRun && isTerminating(answer)) informers.noteWritten(ref.type, answer);
      return answer;
    },
    deleteCollection: (type, options) => client.deleteCollection(type, options),
    logs: (ref, options) => client.logs(ref, options),
    artifact: (ref, digest, options) => client.artifact(ref, digest, options),
    resourceType: (apiVersion, kind) => client.resourceType(apiVersion, kind),
    resourceTypes: () => client.resourceTypes(),
    raw: (path, options) => client.raw(path, options),
    close: () => client.close(),
  };
}

/** A server answers with the remaining object, or with a Status. */
const isTerminating = (answer: KubeObject | Status): answer is Stored => "deletionTimestamp" in answer.metadata;
