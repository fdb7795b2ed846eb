import { Duplex } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, SlipwayError, systemClock } from "#lib/base/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { memoryClient, seededRandom } from "#kernel/kit/testing/index.ts";
import { ApiError, CoreEvent, type KubeObject, Pod, type Stored } from "#kernel/model/index.ts";
import { Worker } from "../kinds.ts";
import type { ForwardPort } from "../provisioner/pod-address.ts";
import { workerTokenOf } from "../provisioner/worker-token.ts";
import { serveBuild, type ServedBuild } from "../worker-api/testing/served-build.ts";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import { addAggregator } from "./add-aggregator.ts";
import { type DutyParts, settleWorker } from "./settle-worker.ts";
import { lostPodLines } from "./lost-pod.ts";
import { wholeShard } from "./shard.ts";
import { type RecordingApi, withRecordingApi } from "./testing/recording-api.ts";
import { withProvisioner } from "./testing/some-provisioner.ts";

// Workers that are Pods: read through their ports, and told of when they never answered.

const podWorker = (status: object) =>
  ({
    apiVersion: "wharf.slipway.dev/v1alpha1",
    kind: "Worker",
    metadata: {
      name: "w-7",
      namespace: "default",
      uid: "uid-7",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { buildRef: 7 },
    status: { runtime: "kubernetes", runtimeId: "pod-uid", ...status },
  }) as unknown as Stored<Worker>;

const mostCuts = 3;

/** The same stream, until so many bytes have come. */
function cutAfter(way: Duplex, bytes: number, cut: () => void): Duplex {
  let left = bytes;
  const stream = new Duplex({
    read: () => void way.resume(),
    write: (piece: Buffer, _encoding, done) => void way.write(piece, done),
    final: (done) => void way.end(done),
    destroy: (failure, done) => {
      way.destroy();
      done(failure);
    },
  });
  way.on("data", (piece: Buffer) => {
    left -= piece.length;
    if (left <= 0 && !stream.destroyed) {
      cut();
      stream.destroy(new Error("the way is cut"));
    } else if (!stream.push(piece)) way.pause();
  });
  way.on("end", () => stream.push(null));
  way.on("error", (failure) => stream.destroy(failure));
  return stream;
}

const partsFor = (api: RecordingApi, url: string, more: Partial<DutyParts>): DutyParts => ({
  api,
  provisioner: { url, token: "of the services" },
  shard: wholeShard,
  clock: systemClock,
  random: seededRandom(1),
  log: silentLog,
  ...more,
});

let served: ServedBuild;
beforeEach(async () => {
  served = await serveBuild(2, { token: workerTokenOf("of the services", "uid-7") });
});
afterEach(() => served.close());

test("a forwarded port that is cut again and again loses no line, and none is there twice", () =>
  withRecordingApi((api) =>
    withProvisioner(async (url) => {
      api.builds.known.add(7);
      const lines = Array.from({ length: 20_000 }, (_, at) => `line ${at} ${"x".repeat(50)}`);
      await served.print(1, lines.map((line) => `${line}\n`).join(""));
      await served.print(2, "other\n");
      await served.leave(2, "file.txt", "content");
      await served.end();
      let cuts = 0;
      const forward: ForwardPort = async (pod, port, { signal }) => {
        expect([pod.namespace, pod.name, port]).toEqual(["default", "w-7", 5010]);
        const way = await tcpConnect(served.door.address)(signal);
        return cuts >= mostCuts ? way : cutAfter(way, 60_000 * (cuts + 1), () => void cuts++);
      };
      const worker = podWorker({ address: "pod://default/w-7:5010" });
      await settleWorker(worker, partsFor(api, url, { forward }), AbortSignal.timeout(50_000));
      expect(cuts).toBe(mostCuts);
      expect(await api.messages(7, 1)).toEqual(lines);
      expect(await api.messages(7, 2)).toEqual(["other"]);
      expect(api.statuses.at(-1)).toMatchObject({ status: "Completed" });
    }),
  ));

test("a Pod that has ended without serving is told of by its output and its events, once, however often", () =>
  withRecordingApi((api) =>
    withProvisioner(async (url, asked) => {
      api.builds.known.add(7);
      const store = memoryClient({ types: [CoreEvent] });
      const newEvent = (name: string) => {
        const event = { apiVersion: "v1", kind: "Event", metadata: { name, namespace: "default" } };
        return store.create(CoreEvent, { ...event, reason: "Failed", message: `${name}\nof the Pod` } as KubeObject);
      };
      for (const name of ["b", "a"]) await newEvent(name);
      const selectors: unknown[] = [];
      let isAway = true;
      const client: Parameters<typeof lostPodLines>[0] = {
        async *logs({ name }, { container } = {}) {
          if (name !== "w-7" || container !== "init") throw new ApiError("BadRequest", "it waits to start");
          yield await Promise.resolve(Buffer.from("fatal: no\r\nsorry\n"));
          if (isAway) throw new SlipwayError("connection-failed", "the connection broke");
        },
        list: async (type, { fieldSelector, ...options } = {}) => {
          selectors.push(fieldSelector);
          return await store.list(type, options);
        },
      };
      const worker = podWorker({ finishedAt: "2026-01-01T00:01:00Z", message: "init has ended with exit code 1" });
      const parts = partsFor(api, url, { lostLines: (lost, signal) => lostPodLines(client, lost, signal) });
      // What was not read yet would go with the worker.
      await expect(settleWorker(worker, parts, AbortSignal.timeout(50_000))).rejects.toThrow("the connection broke");
      expect([asked, await api.messages(7, 0)]).toEqual([[], []]);
      isAway = false;
      for (let time = 0; time < 2; time++) await settleWorker(worker, parts, AbortSignal.timeout(50_000));
      expect(await api.messages(7, 0)).toEqual([
        "init has ended with exit code 1",
        "[slipway] output of init:",
        "fatal: no",
        "sorry",
        "[slipway] output of app:",
        "[slipway] it waits to start",
        "[slipway] events of the Pod:",
        "[slipway] Failed: a of the Pod",
        "[slipway] Failed: b of the Pod",
      ]);
      expect(new Set(selectors)).toEqual(new Set(["involvedObject.uid=pod-uid"]));
      expect(api.statuses.at(-1)).toMatchObject({ status: "Failed", message: "init has ended with exit code 1" });
      expect(asked.at(-1)).toContain("DELETE /api/worker/w-7");
    }),
  ));

test("Pods of a released provisioner are read and deleted, those of others are left alone", () =>
  withRecordingApi((api) =>
    withProvisioner(async (url, asked) => {
      api.builds.known.add(7).add(8);
      const client = memoryClient({ types: [Worker] });
      const labels = {
        "app.kubernetes.io/name": "wharf-cmd-worker",
        "app.kubernetes.io/managed-by": "wharf-cmd-provisioner",
        "wharf.iver.com/instance": "local",
      };
      const newPod = async (name: string, own: Readonly<Record<string, string>>) => {
        const metadata = { name, namespace: "default", labels: { ...labels, ...own } };
        const pod = await client.create(Pod, { apiVersion: "v1", kind: "Pod", metadata });
        const status = { phase: "Running", containerStatuses: [{ name: "app", state: { running: {} } }] };
        await client.updateStatus(Pod, { ...pod, status });
      };
      await newPod("released", { "wharf.iver.com/build-ref": "7" });
      await newPod("elsewhere", { "wharf.iver.com/build-ref": "8", "wharf.iver.com/instance": "another" });
      await newPod("ours", { "wharf.iver.com/build-ref": "8", "slipway.dev/worker-uid": "uid-8" });
      const released = await serveBuild(1);
      await released.print(1, "a\nb\n");
      await released.end();
      const reached: string[] = [];
      const forward: ForwardPort = async ({ name }, port, { signal }) => {
        reached.push(`${name}:${port}`);
        return await tcpConnect(released.door.address)(signal);
      };
      const manager = new Manager({ client, clock: systemClock, log: silentLog, random: seededRandom(1) });
      const pods = { namespace: "default", instance: "local" };
      const services = async () => ({ api, provisioner: { url, token: "of the services" } });
      addAggregator(manager, { services, forward, pods, workerPort: 5011 });
      const stop = new AbortController();
      const running = manager.run(stop.signal);
      const names = async () => (await client.list(Pod)).items.map(({ metadata }) => metadata.name);
      await expect.poll(names).toEqual(["elsewhere", "ours"]);
      stop.abort();
      await running;
      await released.close();
      expect(await api.messages(7, 1)).toEqual(["a", "b"]);
      expect(api.statuses.at(-1)).toMatchObject({ status: "Completed" });
      expect([new Set(reached), asked]).toEqual([new Set(["released:5011"]), []]);
    }),
  ));
