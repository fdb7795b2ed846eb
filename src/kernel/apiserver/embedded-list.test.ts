import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { createApiServer } from "./api-server.ts";
import { memoryStore } from "./store/open.ts";

test("a list in this process is parsed in turns, not at once", async () => {
  const store = memoryStore({ clock: systemClock });
  const server = await createApiServer({ store, clock: systemClock, log: silentLog, version: "0.0.0" });
  const client = server.client();
  const names = Array.from({ length: 8 }, (_, at) => `large-${at}`);
  const data = { text: "x".repeat(300 * 1024) };
  for (const name of names)
    await client.create(ConfigMap, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default" },
      data,
    });
  let [turns, isDone] = [0, false];
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const { items } = await client.list(ConfigMap, { namespace: "default" });
  isDone = true;
  expect(items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(names));
  expect(turns).toBeGreaterThanOrEqual(names.length - 1);
  await server.close();
  await store.close();
});
