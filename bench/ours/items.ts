import { mkdir } from "node:fs/promises";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { age, column, kind, type ObjectOf, s, toCrd } from "#lib/schema/index.ts";
import {
  type ApiServer,
  createApiServer,
  type DurableStore,
  ensureAdminToken,
  ensureCertificates,
  openStore,
} from "#kernel/apiserver/index.ts";
import { type ApiClient, installCrds } from "#kernel/kit/index.ts";
import { objectName } from "../floors/load.ts";

/** The custom resource whose objects are written and listed. */
export const Item = kind({
  group: "bench.slipway.dev",
  version: "v1",
  kind: "Item",
  plural: "items",
  scope: "Namespaced",
  description: "An object of a benchmark.",
  spec: s.object({
    count: s.integer({ minimum: 0 }),
    text: s.string({ maxLength: 4096 }),
    ports: s.list(s.integer({ minimum: 1, maximum: 65_535 })),
    template: s.object({ image: s.string({ minLength: 1 }), args: s.optional(s.list(s.string())) }),
  }),
  status: s.object({
    phase: s.optional(s.oneOf("Pending", "Ready", "Failed")),
    conditions: s.optional(
      s.list(s.object({ type: s.string(), status: s.string(), reason: s.string(), lastTransitionTime: s.string() }), {
        key: "type",
      }),
    ),
  }),
  columns: [column("Phase", ".status.phase"), column("Count", ".spec.count", { type: "integer" }), age()],
});
export type Item = ObjectOf<typeof Item>;

export const namespace = "default";
export const itemsPath = `/apis/${Item.group}/${Item.version}/namespaces/${namespace}/items`;

/** Bytes of an item's JSON as it is stored, beside its text: with uid and times, and without the status, which a create drops. */
const envelopeBytes = 430;

/** An item that takes about `bytes` bytes when it is stored. */
export const itemOf = (index: number, count: number, bytes: number): Item => ({
  apiVersion: "bench.slipway.dev/v1",
  kind: "Item",
  metadata: {
    name: objectName(index),
    namespace,
    labels: { "app.kubernetes.io/name": "bench", "bench.slipway.dev/shard": String(index % 16) },
  },
  spec: {
    count,
    text: "x".repeat(Math.max(0, bytes - envelopeBytes)),
    ports: [80, 443],
    template: { image: "registry.local/app:1", args: ["--verbose", "--once"] },
  },
  status: {
    phase: "Ready",
    conditions: [{ type: "Ready", status: "True", reason: "Done", lastTransitionTime: "2026-01-01T00:00:00Z" }],
  },
});

/** A durable API server in this process that serves items. */
export interface ItemsServer {
  readonly server: ApiServer;
  readonly client: ApiClient;
  readonly store: DurableStore;
  readonly close: () => Promise<void>;
}

export async function openItems(dir: string): Promise<ItemsServer> {
  await mkdir(dir, { recursive: true });
  const store = await openStore(`${dir}/store`);
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
  const client = server.client();
  const signal = new AbortController().signal;
  await installCrds(client, [toCrd(Item)], { clock: systemClock, log: silentLog, random: () => 0.5, signal });
  return {
    server,
    client,
    store,
    async close() {
      await server.close();
      await store.close();
    },
  };
}

/** Creates `count` items of `bytes` bytes; answers their resourceVersions. */
export async function fillItems(client: ApiClient, count: number, bytes: number): Promise<string[]> {
  const created = await Promise.all(
    Array.from({ length: count }, (_, index) => client.create<Item>(Item, itemOf(index, 0, bytes))),
  );
  return created.map(({ metadata }) => metadata.resourceVersion);
}

/** How to reach a server over TLS. */
export interface Endpoint {
  readonly port: number;
  readonly token: string;
  readonly ca: string;
}

export async function listenItems({ server, store }: ItemsServer, dir: string): Promise<Endpoint> {
  const tls = await ensureCertificates(`${dir}/pki`, systemClock.now());
  const token = await ensureAdminToken(store);
  const { port } = await server.listen({ port: 0, tls });
  return { port, token, ca: tls.ca };
}
