import { Pod } from "#kernel/model/index.ts";
import { objectName } from "../floors/load.ts";
import { longestHold } from "../harness/loop-delay.ts";
import { type Endpoint, listenItems, namespace, openItems } from "./items.ts";

// P4, P5: an API server with Pods that nobody runs, for load from another process.

export const podsPath = `/api/v1/namespaces/${namespace}/pods`;

/** Bytes of a Pod's JSON as it is stored, beside its annotation. */
const envelopeBytes = 1100;

const podOf = (index: number, bytes: number) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: objectName(index),
    namespace,
    labels: { app: "bench", shard: String(index % 16) },
    annotations: { text: "x".repeat(Math.max(0, bytes - envelopeBytes)) },
  },
  spec: { containers: [{ name: "main", image: "registry.local/app:1", args: ["--verbose", "--once"] }] },
});

export async function start(given: {
  readonly dir: string;
  readonly count: number;
  readonly bytes: number;
}): Promise<Endpoint> {
  const { dir, count, bytes } = given;
  const server = await openItems(dir);
  const pods = Array.from({ length: count }, (_, index) => server.client.create(Pod, podOf(index, bytes)));
  await Promise.all(pods);
  return listenItems(server, dir);
}

export const held = (): number => longestHold();
