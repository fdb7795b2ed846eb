import { seededRandom } from "#kernel/kit/testing/index.ts";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { deferred, silentLog, systemClock } from "#lib/base/index.ts";
import type { LineFrames } from "../worker-api/line-frames.ts";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import { serveBuild } from "../worker-api/testing/served-build.ts";
import { WorkerClient } from "../worker-api/worker-client.ts";
import { aggregateWorker } from "./aggregate-worker.ts";
import { BuildApi } from "./build-api.ts";
import { withRecordingApi } from "./testing/recording-api.ts";

/** What a worker may take of an aggregator's memory. */
const bound = 8 * 1024 * 1024;

/** wharf-api that takes ten lines a second, one after the other, until it is let go; what it has taken whole is stored. */
class SlowApi extends BuildApi {
  /** Lines that it has come to, whether the batch that they are in is whole or not. */
  lines = 0;
  /** Bytes of batches that are stored. */
  stored = 0;
  isFree = false;
  #turn: Promise<void> = Promise.resolve();

  override async putFrames(frames: LineFrames, signal: AbortSignal, isDurable = false) {
    const before = this.#turn;
    const own = deferred<void>();
    this.#turn = own.promise;
    await before;
    for (let line = 0; line < frames.lines && !this.isFree; line++) {
      await new Promise<void>((resolve) => void systemClock.after(100, resolve));
      this.lines++;
    }
    own.resolve();
    const taken = await super.putFrames(frames, signal, isDurable);
    this.stored += frames.bytes.length;
    return taken;
  }
}

test("an API that takes ten lines a second holds up no worker and fills no memory, and has everything later", () =>
  withRecordingApi(async (recording) => {
    const worker = await serveBuild(1);
    const sockets: Socket[] = [];
    const connect = tcpConnect(worker.door.address);
    const random = seededRandom(7);
    const client = new WorkerClient({
      connect: async (signal) => {
        const socket = (await connect(signal)) as Socket;
        sockets.push(socket);
        return socket;
      },
      clock: systemClock,
      random,
      log: silentLog,
    });
    recording.builds.known.add(7);
    const api = new SlowApi({ url: recording.url }, 7);
    /** What was read of the worker and is nowhere else yet. */
    const held = (): number => sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0) - api.stored;
    const parts = { worker: client, api, clock: systemClock, random, log: silentLog };
    const done = aggregateWorker(parts, new AbortController().signal);
    try {
      const lines = Array.from({ length: 60_000 }, (_, at) => `${at + 1} ${"x".repeat(500)}`);
      await worker.print(1, `${lines.join("\n")}\n`);
      await worker.end();
      // The worker has ended with 30 MB in its store, of which the API has next to nothing.
      expect(worker.results.frozen).toBe(true);
      expect(api.stored).toBeLessThan(bound);
      const most: number[] = [];
      const come = api.lines + 20;
      const patience = { timeout: 60_000, interval: 20 };
      await expect.poll(() => (most.push(held()), api.lines), patience).toBeGreaterThanOrEqual(come);
      expect(api.isFree).toBe(false);
      expect(Math.max(...most)).toBeGreaterThan(0);
      expect(Math.max(...most)).toBeLessThan(bound);
      api.isFree = true;
      await done;
      expect(await recording.messages(7, 1)).toEqual(lines);
    } finally {
      api.isFree = true;
      await done.catch(() => undefined);
      client.close();
      await worker.close();
    }
  }));
