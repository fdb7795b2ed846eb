import { once } from "node:events";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { service, wharfWorkerV1 } from "#kernel/rpc/index.ts";
import { type FakeClock, silentLog, systemClock } from "#lib/base/index.ts";
import { freePort } from "#test/support/free-port.ts";
import { type HttpDoor, openHttpDoor } from "../http/index.ts";
import { readLines } from "./line-frames.ts";
import { serveResults } from "./serve-results.ts";
import { type ServedBuild, serveBuild } from "./testing/served-build.ts";
import { tcpConnect } from "./tcp-connect.ts";
import { WorkerClient, type WorkerClientOptions } from "./worker-client.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Waits of no length, so that it comes again at once. */
const hurried: Pick<FakeClock, "now" | "monotonic" | "after"> = {
  now: () => 0,
  monotonic: () => 0,
  after: (_, run) => systemClock.after(1, run),
};

function clientOf(address: string, options: Partial<WorkerClientOptions> = {}): WorkerClient {
  const client = new WorkerClient({
    connect: tcpConnect(address),
    clock: hurried,
    random: Math.random,
    log: silentLog,
    ...options,
  });
  closers.push(() => client.close());
  return client;
}

async function serve(options: Parameters<typeof serveBuild>[1] = {}): Promise<ServedBuild> {
  const build = await serveBuild(2, options);
  closers.push(() => build.close());
  return build;
}

const { signal } = new AbortController();

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function linesOf(client: WorkerClient, known = new Map<number, number>(), until = signal): Promise<string[]> {
  const batches = await all(client.logs(known, until));
  return batches.flatMap(readLines).map(({ stepId, logId, message }) => `${stepId}/${logId} ${message}`);
}

describe("of this worker", () => {
  test("logs, statuses, artifacts and the build are what the store has", async () => {
    const build = await serve();
    await build.print(1, "a\nb\n");
    await build.leave(1, "out/ö.txt", "hello");
    await build.leave(1, "empty", "");
    const client = clientOf(build.door.address);
    const reading = [linesOf(client), all(client.statuses(signal)), all(client.artifacts(signal))] as const;
    await build.print(2, "c\n");
    await build.end();
    const [lines, statuses, artifacts] = await Promise.all(reading);
    expect(lines).toEqual(["1/1 a", "1/2 b", "2/1 c"]);
    expect(statuses.filter(({ stepId }) => stepId === 2).map(({ eventId, status }) => `${eventId} ${status}`)).toEqual([
      "1 None",
      "2 Running",
      "3 Success",
    ]);
    expect(artifacts).toMatchObject([
      { artifactId: 1, stepId: 1, name: "out/ö.txt", size: 5, sha256: expect.stringMatching(/^2cf24dba/) as string },
      { artifactId: 2, name: "empty", size: 0, testResults: false },
    ]);
    expect(await client.build(signal)).toMatchObject({ buildId: 7, frozen: true, logs: [{ lines: 2 }, { lines: 1 }] });
    expect(Buffer.concat(await all(await client.download(1, signal))).toString()).toBe("hello");
    expect(Buffer.concat(await all(await client.download(1, signal, 3))).toString()).toBe("lo");
    await expect(client.download(9, signal)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("come with their times, from where the caller was", async () => {
    const build = await serve();
    await build.print(1, "a\nb\nc\n");
    await build.end();
    const [batch] = await all(clientOf(build.door.address).logs(new Map([[1, 2]]), signal));
    const lines = batch && readLines(batch);
    expect(lines).toMatchObject([{ logId: 3, message: "c", time: { seconds: expect.any(Number) as number } }]);
    expect(lines?.[0]?.time?.seconds).toBeGreaterThan(1_700_000_000);
  });

  test("nobody is answered without the token, and asking again would not help", async () => {
    const build = await serve({ token: "t" });
    await build.end();
    const stranger = clientOf(build.door.address, { token: "x" });
    await expect(linesOf(stranger)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(stranger.build(signal)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    expect(await linesOf(clientOf(build.door.address, { token: "t" }))).toEqual([]);
  });

  test("a cancel is passed on", async () => {
    let isCanceled = false;
    const build = await serve({ cancel: () => void (isCanceled = true) });
    await clientOf(build.door.address).cancel(signal);
    expect(isCanceled).toBe(true);
  });
});

describe("a connection that breaks", () => {
  /** Something between client and server, whose connections can be cut. */
  async function relay(to: HttpDoor) {
    const sockets = new Set<Socket>();
    const server = createServer((from) => {
      const onward = connectTcp(to.port, "127.0.0.1");
      for (const socket of [from, onward]) {
        sockets.add(socket);
        socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
      }
      from.pipe(onward).pipe(from);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const cut = (): void => {
      for (const socket of sockets) socket.destroy();
    };
    closers.push(() => {
      server.close();
      cut();
    });
    const bound = server.address();
    return { address: `127.0.0.1:${typeof bound === "object" ? bound?.port : ""}`, cut };
  }

  test("is made again, and everything comes once and in order", async () => {
    const build = await serve();
    const { address, cut } = await relay(build.door);
    const client = clientOf(address);
    const [lines, statuses] = [linesOf(client), all(client.statuses(signal))];
    const text = (from: number) => Array.from({ length: 1000 }, (_, at) => `line ${from + at}\n`).join("");
    await build.results.setStatus(1, "Running");
    const writer = await build.results.openLog(1);
    for (let from = 1; from <= 20_000; from += 1000) {
      writer.append("stdout", Buffer.from(text(from)));
      if (from % 4000 === 1) cut();
      await new Promise(setImmediate);
    }
    await build.results.setStatus(1, "Success", 0);
    cut();
    await build.end();
    const expected = Array.from({ length: 20_000 }, (_, at) => `1/${at + 1} line ${at + 1}`);
    expect(await lines).toEqual(expected);
    const ofStep = (await statuses).filter(({ stepId }) => stepId === 1);
    expect(ofStep.map(({ status }) => status)).toEqual(["None", "Running", "Success"]);
  });

  test("is waited for until the caller gives up", async () => {
    // One that nobody else is given while nobody answers there.
    const build = await serve({ address: `127.0.0.1:${await freePort()}` });
    const { address } = build.door;
    await build.door.close();
    const patience = new AbortController();
    const lines = linesOf(clientOf(address), new Map(), patience.signal);
    await expect(clientOf(address).build(signal)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    patience.abort(new Error("no longer"));
    await expect(lines).rejects.toThrow("no longer");
  });

  test("to a worker that is served anew ends with what is there", async () => {
    // A port that the system gives to nobody else while nobody listens there, nor to the very connections that are tried to it.
    const build = await serve({ address: `127.0.0.1:${await freePort()}` });
    await build.print(1, "a\n");
    const { address } = build.door;
    const lines = linesOf(clientOf(address));
    await expect.poll(() => build.results.changes.waiting).toBe(1);
    await build.door.close();
    await build.print(2, "b\n");
    await build.end();
    const again = await serveResults(build.results, { address, clock: systemClock, log: silentLog });
    closers.push(() => again.close());
    expect(await lines).toEqual(["1/1 a", "2/1 b"]);
  });
});

describe("of a released worker", () => {
  const line = (stepId: number, logId: number) => ({
    stepId: BigInt(stepId),
    logId: BigInt(logId),
    message: `line ${logId}`,
    timestamp: { seconds: 1n, nanos: 0 },
  });

  /** It knows neither cursors nor a build document, sends what was and what comes mixed, and counts artifacts of each step. */
  async function released(breakAt: readonly number[]): Promise<HttpDoor> {
    const breaks = [...breakAt];
    const door = await openHttpDoor({
      address: "127.0.0.1:0",
      clock: systemClock,
      log: silentLog,
      serves: async () => ({
        fetch: async ({ url }) =>
          url.endsWith("/api/artifact/1/download")
            ? new Response("old bytes")
            : new Response("404 page not found", { status: 404 }),
        services: [
          service(wharfWorkerV1.Worker, {
            streamLogs: async (_, replies) => {
              const order = [line(1, 4), line(1, 1), line(1, 5), line(1, 2), line(2, 1), line(1, 3)];
              for (const [at, one] of order.entries()) {
                if (at === breaks[0]) {
                  breaks.shift();
                  throw new Error("it was killed");
                }
                replies.send(one);
              }
            },
            streamArtifactEvents: async (_, replies) => {
              for (const stepId of [1n, 2n]) replies.send({ stepId, artifactId: 1n, name: "a.txt" });
            },
          }),
        ],
      }),
    });
    closers.push(() => door.close());
    return door;
  }

  test("lines come once, whatever their order and however often they are sent", async () => {
    const { address } = await released([3, 5]);
    const lines = await linesOf(clientOf(address));
    expect(lines.toSorted()).toEqual([
      "1/1 line 1",
      "1/2 line 2",
      "1/3 line 3",
      "1/4 line 4",
      "1/5 line 5",
      "2/1 line 1",
    ]);
    expect(await linesOf(clientOf(address), new Map([[1, 5]]))).toEqual(["2/1 line 1"]);
  });

  test("what it does not say is not made up, and what it has can be had", async () => {
    const client = clientOf((await released([])).address);
    expect(await client.build(signal)).toBeUndefined();
    const unknown = { size: undefined, sha256: undefined, testResults: false, name: "a.txt", artifactId: 1 };
    expect(await all(client.artifacts(signal))).toEqual([
      { ...unknown, stepId: 1 },
      { ...unknown, stepId: 2 },
    ]);
    expect(Buffer.concat(await all(await client.download(1, signal))).toString()).toBe("old bytes");
    await expect(all(client.statuses(signal))).rejects.toMatchObject({ code: "UNIMPLEMENTED" });
  });
});
