import { silentLog, systemClock } from "#lib/base/index.ts";
import { systemRandom } from "#lib/base/index.node.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { kinds } from "../../kinds.ts";
import type { RebarEvent, Write } from "../../store.ts";
import { type OpenStore, openRebarStore, type OpenStoreOptions } from "../open-store.ts";

export const byUser: Write = { by: { kind: "user", name: "rocketskates" } };
export const byServer: Write = { by: { kind: "internal" } };

export interface StoreFixture {
  readonly client: MemoryClient;
  readonly store: OpenStore;
  readonly events: readonly RebarEvent[];
  /** `jobs.create KEY` and so on, since the last call. */
  eventTexts(): readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export const rebarMemory = (): MemoryClient => memoryClient({ types: kinds });

export const openOver = (client: ApiClient, more: Partial<OpenStoreOptions> = {}): Promise<OpenStore> =>
  openRebarStore({
    client,
    clock: systemClock,
    log: silentLog,
    random: systemRandom,
    signal: new AbortController().signal,
    ...more,
  });

/** A store over an API in memory. */
export async function storeFixture(more: Partial<OpenStoreOptions> = {}): Promise<StoreFixture> {
  const client = rebarMemory();
  const store = await openOver(client, more);
  const events: RebarEvent[] = [];
  store.listen((event) => events.push(event));
  let seen = 0;
  return {
    client,
    store,
    events,
    eventTexts() {
      const texts = events.slice(seen).map(({ Type, Action, Key }) => `${Type}.${Action} ${Key}`);
      seen = events.length;
      return texts;
    },
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Tasks a, b and c in the stages s1, with the boot environment e1, and s2; the workflow w has both. */
export async function addWorkflow(store: OpenStore): Promise<void> {
  for (const Name of ["ta", "tb", "tc"]) {
    await store.create("tasks", { Name, Templates: [{ Name: "run", Contents: "#!/bin/sh\n" }] }, byUser);
  }
  await store.create("bootenvs", { Name: "e1", OS: { Name: "e1" } }, byUser);
  await store.create("stages", { Name: "s1", BootEnv: "e1", Tasks: ["ta", "tb"] }, byUser);
  await store.create("stages", { Name: "s2", Tasks: ["tc"] }, byUser);
  await store.create("workflows", { Name: "ww", Stages: ["s1", "s2"] }, byUser);
}
