import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { ArtifactStore } from "#kernel/artifacts/index.ts";
import { type ApiClient, Manager } from "#kernel/kit/index.ts";
import { type MemoryClient, memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ConfigMap } from "#kernel/model/index.ts";
import { addArtifactSweeper } from "./artifact-sweeper.ts";

let directory: string;
let clock: FakeClock;
let store: ArtifactStore;
let client: MemoryClient;
let lists = 0;
let isDown = false;
let close: () => Promise<void>;

// Any kind may mention an artifact; a ConfigMap stands for all of them.
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-sweeper-"));
  clock = new FakeClock();
  store = new ArtifactStore({ directory, clock });
  client = memoryClient({ clock });
  [lists, isDown] = [0, false];
  const counting: ApiClient = new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const call = value.bind(target) as (...args: readonly unknown[]) => unknown;
      if (name !== "list") return call;
      return (...args: readonly unknown[]) => {
        lists++;
        return isDown ? Promise.reject(new Error("the server is away")) : call(...args);
      };
    },
  });
  const manager = new Manager({ client: counting, clock, log: silentLog, random: seededRandom(1) });
  addArtifactSweeper(manager, store, [ConfigMap]);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  close = async () => {
    stop.abort(new Error("the test is over"));
    await clock.advance(1000);
    await running;
  };
});
afterEach(async () => {
  await close();
  await rm(directory, { recursive: true, force: true });
});

async function* bytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

const mention = (name: string, text: string, namespace = "default") =>
  client.create(ConfigMap, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { text } });

/** Half an hour, which is a look and the ten minutes after it; files are read in between, which no clock waits for. */
async function pass(): Promise<void> {
  for (let minute = 0; minute < 30; minute++) {
    await clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await store.isEmpty();
}

const isThere = (namespace: string, digest: string): Promise<boolean> =>
  store.read(namespace, digest).then(
    () => true,
    () => false,
  );

test("what an object of the namespace mentions stays, everything else goes, and stays until all objects can be read", async () => {
  const kept = await store.put("default", bytes("kept"));
  const gone = await store.put("default", bytes("gone"));
  const away = await store.put("elsewhere", bytes("kept"));
  await mention("one", `status of ${kept.digest}, and more`);
  isDown = true;
  await pass();
  expect(await isThere("default", gone.digest)).toBe(true);
  isDown = false;
  await expect
    .poll(async () => {
      await pass();
      return [await isThere("default", gone.digest), await isThere("elsewhere", away.digest)];
    })
    .toEqual([false, false]);
  expect(await isThere("default", kept.digest)).toBe(true);
  await client.delete({ type: ConfigMap, namespace: "default", name: "one" });
  await expect
    .poll(async () => {
      await pass();
      return isThere("default", kept.digest);
    })
    .toBe(false);
});

test("an empty store costs no request", async () => {
  await pass();
  expect(lists).toBe(0);
});
