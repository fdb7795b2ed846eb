import { expect } from "vitest";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound, type ResourceType } from "#kernel/model/index.ts";

/** Elsewhere a kind is served some moments after its definition was stored. */
export async function waitUntilServed(client: ApiClient, type: ResourceType): Promise<void> {
  const isServed = () =>
    client.list(type).then(
      () => true,
      (thrown: unknown) => (isNotFound(thrown) ? false : Promise.reject(thrown as Error)),
    );
  await expect.poll(isServed, { timeout: 30_000 }).toBe(true);
}
