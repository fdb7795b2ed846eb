import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ConfigMap } from "#kernel/model/index.ts";
import { type Api, type ApiEvent, connectApi } from "#test/support/api.ts";
import { removeDirectory } from "#test/support/slipway.ts";
import {
  startUnreliableServer,
  type UnreliableServer,
} from "../conformance/kubernetes/cluster/suite/unreliable-server.ts";

// History is forgotten while somebody watches and does not read. What he was promised comes all the same; what does not come he is told
// of: there is no gap that nobody sees.

let directory: string;
let server: UnreliableServer;
let api: Api;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-slow-watchers-"));
  server = await startUnreliableServer(directory);
  const kubeconfig = { "certificate-authority-data": Buffer.from(server.ca).toString("base64"), token: server.token };
  await writeFile(join(directory, "kubeconfig"), JSON.stringify(kubeconfig), { mode: 0o600 });
  api = await connectApi(server.url, join(directory, "kubeconfig"));
});
afterAll(async () => {
  api.close();
  await server.close();
  await removeDirectory(directory);
});

const maps = "/api/v1/namespaces/default/configmaps";
const target = (name: string) => ({ type: ConfigMap, namespace: "default", name });

async function create(name: string): Promise<string> {
  const metadata = { name, namespace: "default" };
  await server.client().create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata });
  const { json } = await api.ask("GET", `${maps}/${name}`);
  return json.metadata?.resourceVersion ?? "";
}

/** Another change, and no history before it. */
async function changeAndForget(name: string, n: number, length: number): Promise<void> {
  const body = { data: { n: String(n), fill: "x".repeat(length) } };
  await server.client().patch(target(name), { type: "merge", body });
  await server.forget();
}

const watch = (name: string, from: string) =>
  api.watch(`${maps}?watch=1&fieldSelector=metadata.name%3D${name}&resourceVersion=${from}`);
const numberOf = ({ object }: ApiEvent): string => object.data?.["n"] ?? "";
const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => String(n));

test("who reads late gets all that was compacted meanwhile, in order", async () => {
  const from = await create("late");
  const events = await watch("late", from);
  for (let n = 0; n < 50; n++) await changeAndForget("late", n, 10_000);
  const again = await watch("late", from);
  for await (const event of again) {
    expect(event).toMatchObject({ type: "ERROR", object: { reason: "Expired" } });
  }
  const seen: string[] = [];
  for await (const event of events) {
    seen.push(numberOf(event));
    if (seen.length === 50) break;
  }
  expect(seen).toEqual(numbers(50));
});

test("who was cut for reading nothing is told that history is gone, and goes on from the present", async () => {
  const from = await create("cut");
  const events = await watch("cut", from);
  const isCut = async () => /watch_dropped_total\{reason="slow"\} [1-9]/.test((await api.ask("GET", "/metrics")).text);
  let count = 0;
  for (; count < 100 && !(await isCut()); count++) await changeAndForget("cut", count, 900_000);
  expect(count).toBeLessThan(100);
  const seen: ApiEvent[] = [];
  try {
    for await (const event of events) seen.push(event);
  } catch (thrown) {
    // The connection was cut in the middle of a line.
    expect(thrown).toMatchObject({ code: expect.stringMatching(/ECONNRESET|ABORTED/) });
  }
  // What has come has no gap.
  expect(seen.map(numberOf)).toEqual(numbers(seen.length));
  expect(seen.length).toBeLessThan(count);
  const last = seen.at(-1)?.object.metadata?.resourceVersion ?? from;
  const resumed: ApiEvent[] = [];
  for await (const event of await watch("cut", last)) resumed.push(event);
  expect(resumed).toMatchObject([{ type: "ERROR", object: { kind: "Status", reason: "Expired" } }]);
  const { json } = await api.ask("GET", `${maps}?fieldSelector=metadata.name%3Dcut`);
  expect(json.items?.map(({ data }) => data?.["n"])).toEqual([String(count - 1)]);
  const live = await watch("cut", json.metadata?.resourceVersion ?? "");
  await changeAndForget("cut", count, 10);
  for await (const event of live) {
    expect(event).toMatchObject({ type: "MODIFIED", object: { data: { n: String(count) } } });
    break;
  }
});
