import type { JsonObject } from "../src/lib/base/index.ts";
import { openStore } from "../src/kernel/apiserver/store/open.ts";
import type { StoreKey } from "../src/kernel/apiserver/store/store.ts";
import { drive, objectName, objects, sequence, type Window, type WriteLoad } from "./floors/load.ts";

// B3b: updates of 10,000 existing objects of 1 KB at random through Store.write, each one reading the head, building the
// next state and waiting until it is durable and published. Checked by reading everything back after opening again.

const keyOf = (index: number): StoreKey => ({
  group: "bench.slipway.dev",
  resource: "items",
  namespace: "default",
  name: objectName(index),
});

const padding = "x".repeat(340);

function objectOf(index: number, count: number): JsonObject {
  const name = objectName(index);
  return {
    apiVersion: "bench.slipway.dev/v1",
    kind: "Item",
    metadata: {
      name,
      namespace: "default",
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      generation: count,
      labels: { "app.kubernetes.io/name": "bench", "bench.slipway.dev/shard": String(index % 16) },
      managedFields: [
        { manager: "bench", operation: "Update", apiVersion: "bench.slipway.dev/v1", time: "2026-01-01T00:00:00Z" },
      ],
    },
    spec: {
      count,
      text: padding,
      ports: [80, 443],
      template: { image: "registry.local/app:1", args: ["--verbose", "--once"] },
    },
    status: {
      phase: "Ready",
      conditions: [{ type: "Ready", status: "True", reason: "Done", lastTransitionTime: "2026-01-01T00:00:00Z" }],
    },
  };
}

export async function run(load: WriteLoad): Promise<Window> {
  const store = await openStore(load.dir);
  const counts = new Uint32Array(objects);
  await Promise.all(
    Array.from({ length: objects }, (_, index) => store.write((tx) => tx.put(keyOf(index), objectOf(index, 0)))),
  );
  const keys = Array.from({ length: objects }, (_, index) => keyOf(index));
  const next = sequence(objects);
  const window = await drive(load, () => {
    const index = next();
    return store.write((transaction) => {
      const key = keys[index] ?? keyOf(index);
      const head = transaction.head(key);
      if (head === undefined) throw new Error(`${key.name} is gone`);
      counts[index] = (counts[index] ?? 0) + 1;
      return transaction.put(key, objectOf(index, counts[index] ?? 0));
    });
  });
  const expected = objects + window.ops;
  if (store.revision !== expected) throw new Error(`${window.ops} writes, revision ${store.revision}`);
  await store.close();
  await check(load.dir, counts);
  return window;
}

async function check(dir: string, counts: Uint32Array): Promise<void> {
  const store = await openStore(dir);
  for (const [index, count] of counts.entries()) {
    const stored = store.get(keyOf(index))?.bytes.toString("utf8") ?? "";
    if (!stored.includes(`"count":${count},`)) throw new Error(`${objectName(index)} is not at count ${count}`);
  }
  await store.close();
}
