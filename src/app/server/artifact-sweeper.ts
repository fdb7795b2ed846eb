import { messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { type ArtifactStore, digestsIn } from "#kernel/artifacts/index.ts";
import type { ApiClient, Manager } from "#kernel/kit/index.ts";
import type { ResourceType, Stored } from "#kernel/model/index.ts";

// An artifact is stored before it is referenced, and another object may copy the reference: the store waits ten minutes
// before it removes an unreferenced artifact.

/** No event reports the last reference's removal; leftovers only cost space. */
const every: Millis = 10 * 60_000;
const pageSize = 500;

/** Removes artifacts at most half an hour after these kinds' last reference. Reads objects only if there are any. */
export function addArtifactSweeper(manager: Manager, store: ArtifactStore, types: readonly ResourceType[]): void {
  const { client, clock, log } = manager;
  manager.add({
    name: "artifact-sweeper",
    run: async ({ stop }) => {
      for (;;) {
        await sleep(clock, every, stop).catch(() => undefined);
        if (stop.aborted) return;
        await sweep(client, store, types, stop).catch((thrown: unknown) => {
          if (!stop.aborted) log.warn("artifacts cannot be swept, trying again later", { error: messageOf(thrown) });
        });
      }
    },
  });
}

/** Nothing is removed unless all objects could be read. */
async function sweep(
  client: ApiClient,
  store: ArtifactStore,
  types: readonly ResourceType[],
  signal: AbortSignal,
): Promise<void> {
  if (await store.isEmpty()) return;
  // A digest counts in the namespace of the referencing object, as the store keeps it.
  const mentions = new Set<string>();
  for (const type of types) {
    for await (const object of objectsOf(client, type, signal))
      for (const digest of digestsIn(JSON.stringify(object)))
        mentions.add(`${object.metadata.namespace ?? ""}/${digest}`);
  }
  await store.sweep((namespace, digest) => mentions.has(`${namespace}/${digest}`));
}

/** Page by page, to bound memory. */
async function* objectsOf(client: ApiClient, type: ResourceType, signal: AbortSignal): AsyncGenerator<Stored, void> {
  let token = "";
  do {
    const page = await client.list(type, { limit: pageSize, signal, ...(token === "" ? {} : { continue: token }) });
    yield* page.items;
    token = page.metadata.continue ?? "";
  } while (token !== "");
}
