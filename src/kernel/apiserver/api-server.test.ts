import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { createApiServer } from "./api-server.ts";
import { memoryStore } from "./store/open.ts";

test("an object created through the embedded client can be read back", async () => {
  const store = memoryStore();
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
  const client = server.client();
  const made = await client.create(ConfigMap, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", namespace: "default" },
  });
  console.log(JSON.stringify(made));
  console.log(JSON.stringify(await client.list(ConfigMap)));
  expect(await client.get({ type: ConfigMap, namespace: "default", name: "a" })).toEqual(made);
  await server.close();
  await store.close();
});
