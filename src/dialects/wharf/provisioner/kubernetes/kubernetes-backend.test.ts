import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import { memoryClient, type MemoryClient } from "#kernel/kit/testing/index.ts";
import { type KubeObject, Pod, Secret } from "#kernel/model/index.ts";
import { tcpConnect } from "../../worker-api/tcp-connect.ts";
import { serveBuild, type ServedBuild } from "../../worker-api/testing/served-build.ts";
import type { WorkerIdentity } from "../backend.ts";
import { readParameters } from "../parameters.ts";
import type { PodAddress } from "../pod-address.ts";
import { KubernetesBackend } from "./kubernetes-backend.ts";
import { podSettings } from "./pod-settings.ts";

// The backend over an API in memory, where Pods are what a test says; a worker of one answers through a way to its port that leads to loopback.

const worker: WorkerIdentity = { namespace: "ci", name: "wharf-cmd-worker-local-7", uid: "uid-7" };
const clock = new FakeClock();
let client: MemoryClient;
let backend: KubernetesBackend;
let served: ServedBuild | undefined;
let cancelled = 0;
const forwarded: PodAddress[] = [];

function request() {
  const read = readParameters(
    { GIT_FULLURL: "https://example.org/a.git" },
    { instance: "local", allowLocalRepos: false },
  );
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return read.value;
}

beforeEach(() => {
  client = memoryClient({ clock, namespaces: ["ci"] });
  cancelled = 0;
  forwarded.length = 0;
  backend = new KubernetesBackend({
    client,
    pods: { get: () => undefined },
    namespace: "ci",
    settings: podSettings({}, "1"),
    forward: async (pod, port, { signal }) => {
      forwarded.push({ ...pod, port });
      if (served === undefined) throw new Error("nothing listens");
      return await tcpConnect(served.door.address)(signal);
    },
    tokenOf: (uid) => `token-of-${uid}`,
    clock,
    log: silentLog,
  });
});
afterEach(async () => {
  await served?.close();
  served = undefined;
});

const pods = async () => (await client.list(Pod, { namespace: "ci" })).items;
const secrets = async () => (await client.list(Secret, { namespace: "ci" })).items;
async function become(status: JsonObject): Promise<void> {
  const [pod] = await pods();
  await client.updateStatus(Pod, { ...pod, status } as unknown as KubeObject);
}
const running = { phase: "Running", containerStatuses: [{ name: "app", state: { running: {} } }] };

test("is one Pod with one Secret, however often it is started", async () => {
  expect(await backend.observe(worker)).toEqual({ phase: "absent", isAlive: false, status: "Scheduling" });
  await backend.start(worker, request());
  await backend.start(worker, request());
  expect([(await pods()).length, (await secrets()).length]).toEqual([1, 1]);
  expect(await backend.observe(worker)).toMatchObject({
    phase: "starting",
    isAlive: true,
    status: "Scheduling",
    runtimeId: (await pods())[0]?.metadata.uid,
  });
  await backend.remove(worker);
  await backend.remove(worker);
  expect([await pods(), await secrets()]).toEqual([[], []]);
});

test("does not take the Pod of an earlier worker of its name for its own, and waits until it has gone", async () => {
  await backend.start({ ...worker, uid: "uid-6" }, request());
  expect(await backend.observe(worker)).toMatchObject({ phase: "absent" });
  // Its Secret goes first, then its Pod.
  for (let go = 0; go < 2; go++) await expect(backend.start(worker, request())).rejects.toThrow("earlier worker");
  await backend.start(worker, request());
  expect((await pods()).map(({ metadata }) => metadata.labels?.["slipway.dev/worker-uid"])).toEqual(["uid-7"]);
});

test("never takes the place of something that is no worker's", async () => {
  const other = { apiVersion: "v1", kind: "Secret", metadata: { name: worker.name, namespace: "ci" } };
  await client.create(Secret, other);
  await expect(backend.start(worker, request())).rejects.toMatchObject({ code: "worker-refused" });
  expect(await secrets()).toHaveLength(1);
});

test("is asked through its port for its build, which ends before its program does", async () => {
  await backend.start(worker, request());
  await become(running);
  // It clones or begins, and nothing listens.
  expect(await backend.observe(worker)).toMatchObject({ phase: "starting", status: "Running" });
  await backend.end(worker, "cancel");
  expect(await pods()).toHaveLength(1);
  served = await serveBuild(1, { token: "token-of-uid-7", cancel: () => void cancelled++ });
  const address = "pod://ci/wharf-cmd-worker-local-7:5010";
  expect(await backend.observe(worker)).toMatchObject({ phase: "running", status: "Running", address });
  expect(forwarded.at(-1)).toEqual({ namespace: "ci", name: worker.name, port: 5010 });
  await backend.end(worker, "cancel");
  expect([cancelled, (await pods()).length]).toEqual([1, 1]);
  await served.end();
  expect(await backend.observe(worker)).toMatchObject({ phase: "finished", isAlive: true, status: "Success", address });
  await backend.end(worker, "terminate");
  expect(await pods()).toEqual([]);
});

test("is deleted when it is cancelled before it serves", async () => {
  await backend.start(worker, request());
  await backend.end(worker, "cancel");
  expect(await pods()).toEqual([]);
});

test("has ended without an address when its Pod has", async () => {
  await backend.start(worker, request());
  const end = { terminated: { exitCode: 1, reason: "Error", finishedAt: "2026-01-01T00:00:09Z" } };
  await become({ phase: "Failed", initContainerStatuses: [{ name: "init", state: end }] });
  const seen = await backend.observe(worker);
  expect(seen).toMatchObject({
    phase: "finished",
    isAlive: false,
    status: "Failed",
    message: expect.stringContaining("init"),
  });
  expect(seen.address).toBeUndefined();
});

test("a sweep removes what no worker is stored of, and nothing that is not a worker's", async () => {
  const kept = { ...worker, name: "kept", uid: "uid-8" };
  await backend.start(worker, request());
  await backend.start(kept, request());
  const labels = {
    "app.kubernetes.io/name": "wharf-cmd-worker",
    "app.kubernetes.io/managed-by": "wharf-cmd-provisioner",
  };
  const released = { apiVersion: "v1", kind: "Secret", metadata: { name: "released", namespace: "ci", labels } };
  await client.create(Secret, released);
  await backend.sweep(() => [kept]);
  expect((await pods()).map(({ metadata }) => metadata.name)).toEqual(["kept"]);
  expect((await secrets()).map(({ metadata }) => metadata.name).toSorted()).toEqual(["kept", "released"]);
});
