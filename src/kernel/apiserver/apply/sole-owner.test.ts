import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { encodeManagers } from "./managers.ts";
import { soleOwner } from "./sole-owner.ts";
import { builtInTypeNode, customTypeNode, type TypeNode } from "./type-node.ts";
import { updateManagers } from "./update-managers.ts";

const deployment = (): TypeNode => builtInTypeNode("io.k8s.api.apps.v1.Deployment");
const custom = (): TypeNode => customTypeNode({ type: "object", properties: {} });

const web = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default", uid: "u", labels: { app: "web" } },
  spec: { replicas: 1, template: { spec: { containers: [{ name: "c", image: "web:1", ports: [] }] } } },
  status: { replicas: 0 },
};
const writer = { name: "kubectl", apiVersion: "apps/v1" };
const main = { subresource: "", hasStatus: true };
const now = "2026-01-01T00:00:00Z";

const ownersOf = (object: JsonObject, type: TypeNode, at = now, by = writer) =>
  soleOwner({ object, type, writer: by, scope: main, now: at });

test.each<readonly [string, JsonObject, () => TypeNode]>([
  ["a Deployment", web, deployment],
  ["an object of a custom kind", { metadata: { name: "a" }, spec: { colour: "red", sizes: [1, 2] } }, custom],
  ["an object that has nothing but its name", { metadata: { name: "a", namespace: "b" } }, custom],
])("%s belongs to its writer as after an update of nothing", (_, object, typeOf) => {
  const type = typeOf();
  const update = { live: undefined, next: object, type, managers: [], writer, scope: main, now };
  expect(ownersOf(object, type)).toEqual(encodeManagers(updateManagers(update)));
});

test("objects that are alike share their owners, which nobody can change", () => {
  const type = deployment();
  const first = ownersOf(web, type);
  const other = { ...web, metadata: { ...web.metadata, name: "other", uid: "v" }, spec: { ...web.spec, replicas: 2 } };
  expect(ownersOf(other, type)).toBe(first);
  expect(Object.isFrozen(first)).toBe(true);
});

test("another second, writer or field makes owners of its own", () => {
  const type = deployment();
  const first = ownersOf(web, type);
  const later = ownersOf(web, type, "2026-01-01T00:00:01Z");
  expect(later).toEqual([expect.objectContaining({ time: "2026-01-01T00:00:01Z" })]);
  expect(ownersOf(web, type, now, { ...writer, name: "helm" })).toEqual([expect.objectContaining({ manager: "helm" })]);
  expect(ownersOf({ ...web, spec: { paused: true } }, type)).not.toEqual(first);
});
