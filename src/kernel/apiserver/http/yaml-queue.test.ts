import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { startTestServer, type TestServer } from "../testing/index.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const megabyte = 2 ** 20;

/** The status of an answer to headers alone, undefined when none comes at once. */
async function statusBeforeBody({ url, ca, token }: TestServer, length: number): Promise<string | undefined> {
  const { port } = new URL(url);
  const socket = connect({ port: Number(port), host: "127.0.0.1", ca, servername: "localhost" });
  await once(socket, "secureConnect");
  socket.on("error", () => undefined);
  socket.write(
    `POST ${maps} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/yaml\r\nContent-Length: ${length}\r\n\r\n`,
  );
  const answered = once(socket, "data").then(([data]) => /HTTP\/1\.1 (\d+)/.exec(String(data))?.[1]);
  const status = await Promise.race([answered, sleep(systemClock, 200)]);
  socket.destroy();
  return status ?? undefined;
}

test("YAML that could not wait for its reader is refused before its body comes; what is short may come", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-yaml-"));
  const endless = join(directory, "endless.cjs");
  await writeFile(endless, 'require("node:worker_threads").parentPort.on("message", () => undefined);');
  const server = await startTestServer({ yamlReaderPath: endless });
  const bytes = `#${"x".repeat(3 * megabyte - 10)}`;
  const ask = { bytes, headers: { "Content-Type": "application/yaml" } };
  const waiting = Promise.allSettled(Array.from({ length: 3 }, () => server.ask("POST", maps, ask)));
  try {
    await expect.poll(() => statusBeforeBody(server, bytes.length), { timeout: 20_000 }).toBe("429");
    expect(await statusBeforeBody(server, 100)).toBeUndefined();
  } finally {
    await server.close();
    await waiting;
    await rm(directory, { recursive: true });
  }
});
