import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

// A server is killed while it tells of the end of a run, and started again: whoever is to hear of it does, under the same id, and the
// step whose result was to be kept has run once.

let directory: string;
let server: TestServer;
let hook: Server;
/** Ids of what was posted, in order. Only from now on are posts answered. */
let heard: string[];
let isAnswering: boolean;

beforeEach(async () => {
  directory = await temporaryDirectory();
  heard = [];
  isAnswering = false;
  hook = createServer((request, response) => {
    heard.push(String(request.headers["slipway-event-id"]));
    if (isAnswering) response.writeHead(204).end();
  });
  await new Promise<void>((listening) => hook.listen(0, "127.0.0.1", listening));
  server = await startServer(join(directory, "data"));
});

afterEach(async () => {
  await server.stop();
  await endRunner(server.directory);
  hook.closeAllConnections();
  await new Promise((closed) => hook.close(closed));
  await removeDirectory(directory);
});

const cli = async (...words: readonly string[]): Promise<string> => {
  const { code, out, err } = await slipway(words, { env: { SLIPWAY_KUBECONFIG: server.kubeconfig } });
  if (code !== 0) throw new Error(`${words.join(" ")}: ${err}`);
  return out;
};

test("what was being told when the server was killed is told by the next one, under the same id", async () => {
  const { port } = hook.address() as AddressInfo;
  const run = {
    apiVersion: "slipway.dev/v1alpha1",
    kind: "Workflow",
    metadata: { name: "told" },
    spec: {
      notifications: [{ on: ["Started", "Succeeded"], url: `http://127.0.0.1:${port}/` }],
      steps: { once: { container: { image: "busybox", command: ["true"] }, cache: {} } },
    },
  };
  await writeFile(join(directory, "told.json"), JSON.stringify(run));
  await cli("run", join(directory, "told.json"));
  await expect.poll(() => heard.length, { interval: 10, timeout: 60_000 }).toBeGreaterThan(0);
  await server.kill();
  isAnswering = true;
  server = await startServer(join(directory, "data"));
  const owed = async () => JSON.parse(await cli("get", "wf", "told", "-o", "json")).status.notifications;
  await expect.poll(owed, { interval: 50, timeout: 60_000 }).toEqual({ delivered: 2 });
  // One at a time, in their order: the second was not told before the first was. What is not answered is told again after a while.
  const [first = "", ...again] = heard;
  const second = first.replace("Started", "Succeeded");
  expect(first).toMatch(/\/1\/Started$/);
  expect(again).toContain(first);
  expect(heard).toEqual([...heard.filter((id) => id === first), ...heard.filter((id) => id === second)]);
  expect(again).toContain(second);
  expect((await cli("resubmit", "told", "-o", "json")).includes('"Cached"')).toBe(true);
  expect(JSON.parse(await cli("get", "jobs", "-o", "json")).items).toHaveLength(1);
});
