import { expect, test } from "vitest";
import { deferred } from "#lib/base/index.ts";
import { testContext } from "../testing/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import { createObject } from "./create.ts";

const begin = (spec: object, pause: () => Promise<void>) => {
  const context = testContext();
  const namespaces = context.registry().find("", "v1", "namespaces") as ServedResource;
  const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: "large" }, spec };
  return { context, created: createObject(context, namespaces, "", object, { pause }) };
};

test("a pause comes between the checks of an object and its write", async () => {
  const [asked, over] = [deferred<void>(), deferred<void>()];
  const { context, created } = begin({}, () => {
    asked.resolve();
    return over.promise;
  });
  await asked.promise;
  const before = context.store.revision;
  over.resolve();
  await created;
  expect(context.store.revision).toBeGreaterThan(before);
});
