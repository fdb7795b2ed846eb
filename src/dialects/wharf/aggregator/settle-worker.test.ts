import { seededRandom } from "#kernel/kit/testing/index.ts";
import { expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { answersPing, askForBuild, askToCancel } from "../provisioner/worker-client.ts";
import { workerTokenOf } from "../provisioner/worker-token.ts";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import { serveBuild } from "../worker-api/testing/served-build.ts";
import { settleWorker, withPort } from "./settle-worker.ts";
import { wholeShard } from "./shard.ts";
import { withRecordingApi } from "./testing/recording-api.ts";
import { withProvisioner } from "./testing/some-provisioner.ts";

/** Of a worker with an address, what settling reads. */
const workerAt = (address: string, uid: string) =>
  ({
    apiVersion: "wharf.slipway.dev/v1alpha1",
    kind: "Worker",
    metadata: {
      name: "w-7",
      namespace: "default",
      uid,
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { buildRef: 7 },
    status: { address },
  }) as unknown as Stored<Worker>;

test("a worker that asks for its own token is read by who knows the provisioner's", () =>
  withRecordingApi((api) =>
    withProvisioner(async (url, asked) => {
      api.builds.known.add(7);
      const worker = await serveBuild(1, { token: workerTokenOf("of the services", "uid-7") });
      try {
        await worker.print(1, "a\nb\n");
        await worker.end();
        const provisioner = { url, token: "of the services" };
        const parts = {
          api,
          provisioner,
          shard: wholeShard,
          clock: systemClock,
          random: seededRandom(1),
          log: silentLog,
        };
        await settleWorker(workerAt(worker.door.address, "uid-7"), parts, AbortSignal.timeout(50_000));
        expect(await api.messages(7, 1)).toEqual(["a", "b"]);
        expect(asked).toEqual(["DELETE /api/worker/w-7?ignoreMissing=1&force=1 Bearer of the services"]);
        // Another one's token opens nothing.
        const other = workerAt(worker.door.address, "uid-8");
        await expect(settleWorker(other, parts, AbortSignal.timeout(50_000))).rejects.toThrow("token");
      } finally {
        await worker.close();
      }
    }),
  ));

test("the provisioner speaks to a worker with its token, and to nobody's without", async () => {
  const cancelled: unknown[] = [];
  const worker = await serveBuild(1, { token: "own", cancel: (reason) => void cancelled.push(reason) });
  const asked = (token: string | undefined) => ({ connect: tcpConnect(worker.door.address), token });
  try {
    expect([await answersPing(asked(undefined)), await askToCancel(asked("wrong"))]).toEqual([false, false]);
    expect(await askForBuild(asked("wrong"))).toBeUndefined();
    expect(cancelled).toHaveLength(0);
    expect([await answersPing(asked("own")), await askToCancel(asked("own"))]).toEqual([true, true]);
    expect(cancelled).toHaveLength(1);
    expect(await askForBuild(asked("own"))).toMatchObject({ status: "Running", isOver: false });
    await worker.end();
    expect(await askForBuild(asked("own"))).toMatchObject({ status: "Success", isOver: true });
  } finally {
    await worker.close();
  }
});

test.each([
  ["10.0.0.7:49152", undefined, "10.0.0.7:49152"],
  ["10.0.0.7", undefined, "10.0.0.7:5010"],
  ["worker.builds", 80, "worker.builds:80"],
  ["::1", 80, "[::1]:80"],
  ["[::1]", 80, "[::1]:80"],
  ["[::1]:49152", 80, "[::1]:49152"],
])("the address %s of a worker, with the port %s for those that have none, is %s", (address, port, expected) => {
  expect(withPort(address, port)).toBe(expected);
});
