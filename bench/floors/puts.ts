import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ensureCertificates } from "#kernel/apiserver/index.ts";
import { toLog } from "./https.ts";
import { groupCommit } from "./load.ts";

/** Floor of one request of R1: node:https, JSON.parse, JSON.stringify, an append to a log, one flush for each group. */
export async function start({ dir }: { readonly dir: string }) {
  const certificates = await ensureCertificates(join(dir, "pki"), Date.now());
  const commit = groupCommit(await toLog(dir));
  const server = createServer(certificates, (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const bytes = Buffer.from(JSON.stringify(JSON.parse(Buffer.concat(parts).toString("utf8"))));
      const answer = (status: number): void => {
        response.writeHead(status, { "Content-Type": "application/json", "Content-Length": bytes.length });
        response.end(bytes);
      };
      commit({ name: request.url ?? "", bytes }).then(
        () => answer(200),
        () => answer(500),
      );
    });
  });
  // Idle while others are measured.
  server.keepAliveTimeout = 0;
  server.headersTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, ca: certificates.ca };
}
