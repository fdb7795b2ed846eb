import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { temporaryDirectory } from "../testing/index.ts";
import { ContainerEngine } from "./container-engine.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

test("the engine has the grace of a stop, and then its usual time", async () => {
  const directory = await temporaryDirectory();
  const socket = join(directory.path, "d.sock");
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    if (request.url === "/_ping") response.setHeader("api-version", "1.41").end("OK");
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const clock = new FakeClock();
  const variable = (name: string) => (name === "DOCKER_HOST" ? `unix://${socket}` : undefined);
  const engine = new ContainerEngine({ variable, home: directory.path }, clock);
  closing.push(async () => {
    engine.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await directory.remove();
  });
  let isTold = false;
  const told = expect(engine.stop("c", 600_000).finally(() => (isTold = true))).rejects.toThrow("hangs");
  await expect.poll(() => asked).toContain("/v1.41/containers/c/stop?t=600");
  await clock.advance(899_999);
  expect(isTold).toBe(false);
  await clock.advance(1);
  await told;
});
