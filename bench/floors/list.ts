import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ensureCertificates } from "#kernel/apiserver/index.ts";
import { itemOf } from "../ours/items.ts";

// Floor of a list: the stored bytes of all objects, joined and sent over TLS.

export async function start({
  dir,
  count,
  bytes,
}: {
  readonly dir: string;
  readonly count: number;
  readonly bytes: number;
}) {
  const stored = Array.from({ length: count }, (_, index) => Buffer.from(JSON.stringify(itemOf(index, 0, bytes))));
  const [head, comma, tail] = [Buffer.from('{"items":['), Buffer.from(","), Buffer.from("]}")];
  const tls = await ensureCertificates(join(dir, "pki"), Date.now());
  const server = createServer(tls, (_request, response) => {
    const parts: Buffer[] = [head];
    for (const [index, item] of stored.entries()) parts.push(...(index === 0 ? [item] : [comma, item]));
    parts.push(tail);
    const body = Buffer.concat(parts);
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
    response.end(body);
  });
  // Idle while others are measured.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, token: "", ca: tls.ca };
}
