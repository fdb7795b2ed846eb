import { messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { type ArtifactStore, digestsIn } from "#kernel/artifacts/index.ts";
import type { ApiClient, Manager } from "#kernel/kit/index.ts";
import type { ResourceType, Stored } from "#kernel/model/index.ts";

// Who stores an artifact writes it down after that, and who takes one over copies what another object says. So a mention may be missing for
// a moment that is not missing for good: the store waits ten minutes before it believes that nobody wants something.

/** No event tells that the last mention of an artifact has gone; what is left over meanwhile costs nothing but room. */
const every: Millis = 10 * 60_000;
const pageSize = 500;

/**
 * Keeps the store free of artifacts that no object of these kinds mentions any more, wherever in it: a status, an annotation. One that
 * was mentioned is removed at the latest half an hour after the last object that did. Objects are only read where there is something
 * to remove.
 */
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
  // A digest counts in the namespace of the object that mentions it, as the store keeps it.
  const mentions = new Set<string>();
  for (const type of types) {
    for await (const object of objectsOf(client, type, signal))
      for (const digest of digestsIn(JSON.stringify(object)))
        mentions.add(`${object.metadata.namespace ?? ""}/${digest}`);
  }
  await store.sweep((namespace, digest) => mentions.has(`${namespace}/${digest}`));
}

/** Page by page, so that they need not be in memory together. */
async function* objectsOf(client: ApiClient, type: ResourceType, signal: AbortSignal): AsyncGenerator<Stored, void> {
  let token = "";
  do {
    const page = await client.list(type, { limit: pageSize, signal, ...(token === "" ? {} : { continue: token }) });
    yield* page.items;
    token = page.metadata.continue ?? "";
  } while (token !== "");
}
