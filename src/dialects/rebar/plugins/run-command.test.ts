import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { ownNetworks, runHttp } from "./run-command.ts";

/** A service of this host that answers POSTs. */
async function service() {
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    if (request.url === "/moved") response.writeHead(307, { location: "/elsewhere" }).end();
    else response.end(JSON.stringify({ secret: "of this host" }));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, paths };
}

const run = (url: string, denied: readonly string[]) =>
  runHttp(
    { described: {}, params: { "http/url": url }, command: "x", sent: {} },
    { denied, clock: systemClock, signal: AbortSignal.timeout(5000) },
  );

test("plugins reach this host and metadata services by no name, unless programs may run here", async () => {
  const { port, paths } = await service();
  const hosts = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0.0.0.0", "169.254.169.254"];
  for (const host of hosts)
    expect([host, await run(`http://${host}:${port}/`, ownNetworks)]).toMatchObject([
      host,
      { kind: "failed", reason: expect.stringMatching("is denied"), output: "" },
    ]);
  expect(paths).toEqual([]);
  expect(await run(`http://localhost:${port}/`, [])).toEqual({ kind: "done", result: { secret: "of this host" } });
  expect(await run(`http://127.0.0.1:${port}/moved`, [])).toMatchObject({ kind: "failed" });
  expect(paths).toEqual(["/", "/moved"]);
});
