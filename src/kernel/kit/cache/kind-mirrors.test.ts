import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ConfigMap, type KubeObject, Secret } from "#kernel/model/index.ts";
import { KindMirrors } from "./kind-mirrors.ts";

const configMap = (name: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
});
const followed = (type: typeof ConfigMap, name: string) => ({ type, metadata: { name, namespace: "default" } });

let clock: FakeClock;
let client: MemoryClient;
let mirrors: KindMirrors;
let told: string[];

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [ConfigMap, Secret] });
  const { informers } = new Manager({ client, clock, log: silentLog, random: seededRandom(1) });
  told = [];
  mirrors = new KindMirrors({
    informers,
    changed: ({ object, users, isInitial }) =>
      told.push(`${isInitial ? "initial " : ""}${object.metadata.name}: ${users.join(", ")}`),
  });
});
afterEach(() => mirrors.close());

test("a change names the users that refer to the object", async () => {
  await client.create(ConfigMap, configMap("one"));
  mirrors.acquire(ConfigMap, "first");
  mirrors.refer(ConfigMap, "default/one", "first");
  mirrors.follow("second", [followed(ConfigMap, "one"), followed(ConfigMap, "two")]);
  await clock.settle();
  await client.create(ConfigMap, configMap("two"));
  await clock.settle();
  mirrors.follow("second", [followed(ConfigMap, "one")]);
  await client.delete({ type: ConfigMap, namespace: "default", name: "two" });
  await clock.settle();
  expect(told).toEqual(["initial one: first, second", "two: second", "two: "]);
});

test("a mirror stops when its last user follows other kinds or is forgotten", () => {
  expect(mirrors.acquire(ConfigMap, "first").isNew).toBe(true);
  expect(mirrors.acquire(ConfigMap, "first").isNew).toBe(false);
  mirrors.follow("second", [followed(ConfigMap, "one")]);
  mirrors.forget("first");
  expect(mirrors.informers).toHaveLength(1);
  mirrors.follow("second", [followed(Secret, "one")]);
  expect(mirrors.informers).toHaveLength(1);
  mirrors.forget("second");
  expect(mirrors.informers).toHaveLength(0);
});
