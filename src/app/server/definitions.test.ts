import { expect, test } from "vitest";
import { loadDialects } from "#dialects/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { type JsonObject, silentLog, systemClock, textAt } from "#lib/base/index.ts";
import { createApiServer, memoryStore } from "#kernel/apiserver/index.ts";
import { asJson, CustomResourceDefinition, type KubeObject } from "#kernel/model/index.ts";
import { definitionsOf } from "./control-plane.ts";

/** The definitions of a new server that has these from the start and is asked to create those. */
async function stored(shipped: readonly JsonObject[], created: readonly KubeObject[]) {
  const store = memoryStore({ clock: systemClock, log: silentLog });
  const options = { store, clock: systemClock, log: silentLog, version: "test" };
  const server = await createApiServer({ ...options, definitions: shipped });
  try {
    const client = server.client();
    for (const definition of created)
      await client.create(CustomResourceDefinition, definition, { fieldValidation: "Strict" });
    const { items } = await client.list(CustomResourceDefinition);
    const groups = new Set(items.map((one) => textAt(asJson(one), "spec", "group")));
    const served = (await client.resourceTypes()).filter(({ group }) => groups.has(group));
    return { items: items.map(withoutIdentity), served };
  } finally {
    await server.close();
    await store.close();
  }
}

/** What two servers cannot agree on: identities, revisions and times. */
function withoutIdentity(definition: KubeObject): unknown {
  const unique = new Set(["uid", "resourceVersion", "creationTimestamp", "lastTransitionTime"]);
  return JSON.parse(JSON.stringify(definition, (name, value: unknown) => (unique.has(name) ? typeof value : value)));
}

test("definitions that come with the program are stored and served as if they had been created and checked", async () => {
  const dialects = await loadDialects();
  const definitions = definitionsOf([sharedOf(dialects), ...dialects]);
  const shipped = await stored(definitions, []);
  expect(shipped).toEqual(await stored([], definitions));
  expect(shipped.items).toHaveLength(definitions.length);
  expect(shipped.served.length).toBeGreaterThanOrEqual(definitions.length);
});
