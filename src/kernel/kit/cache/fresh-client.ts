import type { KubeObject, Status, Stored } from "#kernel/model/index.ts";
import type { ApiClient } from "../client/api-client.ts";
import type { InformerFactory } from "./informer-factory.ts";

/**
 * The client, with each successful write visible at once in the informers' reads, except those of `createMany`. A
 * deletion that has to wait shows the object as terminating; one that is done at once shows with its event.
 */
export function freshClient(client: ApiClient, informers: InformerFactory): ApiClient {
  const createMany = client.createMany?.bind(client);
  const updateWhole = client.updateWhole?.bind(client);
  return {
    ...(createMany === undefined ? {} : { createMany }),
    ...(updateWhole === undefined
      ? {}
      : ({
          updateWhole: async (type, object, options) => {
            const stored = await updateWhole(type, object, options);
            if (!options?.dryRun) informers.noteWritten(type, stored);
            return stored;
          },
        } satisfies Pick<ApiClient, "updateWhole">)),
    get: (ref, options) => client.get(ref, options),
    list: (type, options) => client.list(type, options),
    watch: (type, options) => client.watch(type, options),
    async create(type, object, options) {
      const stored = await client.create(type, object, options);
      if (!options?.dryRun) informers.noteWritten(type, stored);
      return stored;
    },
    async update(type, object, options) {
      const stored = await client.update(type, object, options);
      if (!options?.dryRun) informers.noteWritten(type, stored);
      return stored;
    },
    async updateStatus(type, object, options) {
      const stored = await client.updateStatus(type, object, options);
      if (!options?.dryRun) informers.noteWritten(type, stored);
      return stored;
    },
    async patch(ref, patch, options) {
      const stored = await client.patch<never>(ref, patch, options);
      if (!options?.dryRun) informers.noteWritten(ref.type, stored);
      return stored;
    },
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
