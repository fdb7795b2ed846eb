import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { type Api, openApi } from "./suite/api.ts";

// What only a server of our own can be put through: it stops, is killed and starts again.

let directory: string;
let server: TestServer;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(directory);
});
afterAll(async () => {
  await server.stop();
  await endRunner(directory);
  await removeDirectory(directory);
});

const maps = "/api/v1/namespaces/default/configmaps";
const create = (api: Api, name: string) =>
  api.ask("POST", maps, { body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name } } });

test.each(["stop", "kill"] as const)("36. a watch resumes where it ended before the server's %s", async (end) => {
  const before = await openApi(server.kubeconfig);
  const list = (await before.ask("GET", `${maps}?limit=1`)).json;
  const watch = await before.watch(`${maps}?watch=1&resourceVersion=${list["metadata"]?.["resourceVersion"]}`);
  await create(before, `${end}-seen`);
  const seen = await watch.next();
  expect(seen).toMatchObject({ type: "ADDED", object: { metadata: { name: `${end}-seen` } } });
  expect((await create(before, `${end}-unseen`)).status).toBe(201);
  watch.close();
  before.close();
  if (end === "stop") expect(await server.stop()).toBe(0);
  else await server.kill();
  server = await startServer(directory);
  const after = await openApi(server.kubeconfig);
  const resumed = await after.watch(`${maps}?watch=1&resourceVersion=${seen?.object["metadata"]?.["resourceVersion"]}`);
  expect(await resumed.next()).toMatchObject({ type: "ADDED", object: { metadata: { name: `${end}-unseen` } } });
  resumed.close();
  after.close();
});

test("39. a second server on the directory is refused, and told who has it", async () => {
  const second = await slipway(["up", "--data-dir", directory, "--port", "0"]);
  expect(second.code).toBe(1);
  expect(second.err).toContain(String(server.process.pid));
  expect(second.err).toContain(server.url);
});
