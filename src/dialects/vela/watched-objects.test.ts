import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import type { TrackedObject } from "./delivery/tracker.ts";
import { WatchedObjects } from "./watched-objects.ts";

const namespace = "default";
const tracked = (name: string, cluster = "local"): TrackedObject => ({
  cluster,
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace,
  name,
  creator: "workflow",
});
const configMap = (name: string, data: Record<string, string> = {}): KubeObject =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data }) as KubeObject;

let clock: FakeClock;
let client: MemoryClient;
let watched: WatchedObjects;
let woken: string[];

beforeEach(() => {
  clock = new FakeClock();
  client = memoryClient({ clock, types: [ConfigMap] });
  const manager = new Manager({ client, clock, log: silentLog, random: seededRandom(1) });
  woken = [];
  watched = new WatchedObjects(manager, (user) => woken.push(user));
});
afterEach(() => watched.close());

test("only changes of followed objects wake, and only those who follow them", async () => {
  await client.create(ConfigMap, configMap("one"));
  await watched.follow("default/a", [tracked("one")]);
  await watched.follow("default/b", [tracked("two"), tracked("one", "east")]);
  await clock.settle();
  expect(woken).toEqual([]);
  await client.create(ConfigMap, configMap("two"));
  await clock.settle();
  expect(woken).toEqual(["default/b"]);
  await client.delete({ type: ConfigMap, namespace, name: "one" });
  await clock.settle();
  expect(woken).toEqual(["default/b", "default/a"]);
});

test("who follows something else, or nothing any more, is not woken", async () => {
  await watched.follow("default/a", [tracked("one")]);
  await watched.follow("default/a", [tracked("two")]);
  await watched.follow("default/b", [tracked("one")]);
  watched.forget("default/b");
  await clock.settle();
  await client.create(ConfigMap, configMap("one"));
  await clock.settle();
  expect(woken).toEqual([]);
});
