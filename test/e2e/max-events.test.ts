import { join } from "node:path";
import { expect, test } from "vitest";
import { connectApi } from "#test/support/api.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory } from "#test/support/slipway.ts";

test("up --max-events says how many Events are kept, the newest", async () => {
  const directory = await temporaryDirectory();
  const server = await startServer(join(directory, "data"), ["--max-events", "5"]);
  const api = await connectApi(server.url, server.kubeconfig);
  try {
    const path = "/api/v1/namespaces/default/events";
    for (let count = 1; count <= 12; count++) {
      const involvedObject = { kind: "Pod", namespace: "default", name: "p" };
      const made = await api.ask("POST", path, { metadata: { name: `e${count}` }, involvedObject, reason: "Tested" });
      expect(made.status, made.text).toBe(201);
    }
    const listed = async () => {
      const { items } = (await api.ask("GET", "/api/v1/events")).json as { readonly items?: readonly Named[] };
      return (items ?? []).map(({ metadata }) => metadata.name);
    };
    await expect.poll(async () => (await listed()).length, { timeout: 60_000 }).toBeLessThanOrEqual(5);
    expect(await listed()).toContain("e12");
  } finally {
    api.close();
    await server.stop();
    await endRunner(server.directory);
    await removeDirectory(directory);
  }
});

interface Named {
  readonly metadata: { readonly name: string };
}
