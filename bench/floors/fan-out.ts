import { createServer } from "node:https";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ensureCertificates } from "#kernel/apiserver/index.ts";
import { atRate, type PacedLoad, type PacedWrites } from "../harness/open-loop.ts";
import { itemOf } from "../ours/items.ts";

// Floor of a watch: events of stored bytes, ten joined to one write per watcher, at the pace of the readers. Nothing is stored.

const batch = 10;
const watchers: ServerResponse[] = [];
let revision = 0;
let bytes = 0;

export async function start(options: { readonly dir: string; readonly bytes: number }) {
  bytes = options.bytes;
  const tls = await ensureCertificates(join(options.dir, "pki"), Date.now());
  const server = createServer(tls, (_request, response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.flushHeaders();
    watchers.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, token: "", ca: tls.ca };
}

/** Nobody has to say who he is. */
export const users = (): readonly string[] => [""];

/** Sends events for `ms`; answers how many. */
export async function churn({ ms }: { readonly ms: number }): Promise<number> {
  const end = performance.now() + ms;
  let count = 0;
  do {
    const event = Buffer.from(Array.from({ length: batch }, eventText).join(""));
    const full = watchers.filter((watcher) => !watcher.write(event));
    await Promise.all(full.map((watcher) => new Promise((resolve) => watcher.once("drain", resolve))));
    await new Promise((resolve) => setImmediate(resolve));
    count += batch;
  } while (performance.now() < end);
  return count;
}

/** Sends events at a fixed rate for `ms`, whatever the readers do. */
export async function pace({ ms, perSecond }: PacedLoad): Promise<PacedWrites> {
  const first = revision + 1;
  return {
    first,
    ...(await atRate({ ms, perSecond }, () => {
      const event = eventText();
      for (const watcher of watchers) watcher.write(event);
    })),
  };
}

function eventText(): string {
  const item = itemOf(0, ++revision, bytes);
  const object = { ...item, metadata: { ...item.metadata, resourceVersion: String(revision) } };
  return `${JSON.stringify({ type: "MODIFIED", object })}\n`;
}
