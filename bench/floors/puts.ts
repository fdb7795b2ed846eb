import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ensureCertificates } from "#kernel/apiserver/index.ts";

/** Floor of one request of R1: node:https, JSON.parse and JSON.stringify. Nothing is kept. */
export async function start({ dir }: { readonly dir: string }) {
  const certificates = await ensureCertificates(join(dir, "pki"), Date.now());
  const server = createServer(certificates, (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = JSON.stringify(JSON.parse(Buffer.concat(parts).toString("utf8")));
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    });
  });
  // Idle while others are measured.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, ca: certificates.ca };
}
