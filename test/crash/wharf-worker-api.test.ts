import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { tcpConnect } from "../../src/dialects/wharf/worker-api/tcp-connect.ts";
import { countedLines, readLines } from "../../src/dialects/wharf/worker-api/line-frames.ts";
import { FramedChannel } from "../../src/kernel/rpc/index.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { removeDirectory, temporaryDirectory } from "../support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// What is served is larger than memory should be.

const mebibytes = rounds(48, 1024);
/** In the long form beyond what 31 bits count. */
const artifactBytes = rounds(2 ** 28, 3 * 2 ** 30);

let directory = "";
let program = "";
beforeAll(async () => {
  directory = await temporaryDirectory();
  program = await bundleProgram(join(import.meta.dirname, "wharf-worker-api.ts"));
});
afterAll(() => removeDirectory(directory));

/** A worker, and the lines of JSON that it says. */
async function worker(kind: "log" | "artifact" | "idle", amount: number) {
  const child: ChildProcess = spawn(process.execPath, [program, join(directory, kind), kind, `${amount}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  // It says its last words and ends: both may be there at once, in either order.
  const exited = once(child, "exit");
  const said = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => JSON.parse((await said.next()).value ?? "null") as T;
  const { address } = await next<{ address: string }>();
  return {
    address,
    next,
    say: (text: string) => child.stdin?.write(text),
    async end() {
      child.stdin?.end();
      const judged = await next<{ lines: number; grown: number }>();
      await exited;
      return judged;
    },
  };
}

const open = (address: string) =>
  new FramedChannel({ connect: tcpConnect(address) }).frames(
    "/wharf.worker.v1.Worker/StreamLogs",
    Buffer.alloc(5),
    new AbortController().signal,
  );

/** To the end of the build; each line in its place. */
async function follow(address: string): Promise<number> {
  let last = 0;
  for await (const frames of open(address)) {
    const { bytes, lines } = countedLines(frames);
    const [first] = readLines({ bytes: bytes.subarray(0, 5 + bytes.readUInt32BE(1)), lines: 1 });
    if (first?.logId !== last + 1) throw new Error(`line ${first?.logId} came after ${last}`);
    last += lines;
  }
  return last;
}

test("memory does not grow with a log, nor with those who follow it, nor with one who has stopped reading", async () => {
  const own = await worker("log", mebibytes);
  const { address } = own;
  const stopped = open(address);
  const first = stopped.next();
  const given = await Promise.all(Array.from({ length: 10 }, () => follow(address)));
  expect((await first).done).toBe(false);
  const { lines, grown } = await own.end();
  expect(lines).toBeGreaterThan(mebibytes * 10_000);
  expect(given).toEqual(given.map(() => lines));
  expect(grown).toBeLessThan(64 * 2 ** 20);
});

test("memory does not grow with an artifact that is downloaded", async () => {
  const own = await worker("artifact", artifactBytes);
  const { address } = own;
  const url = `http://${address}/api/artifact/1/download`;
  const tail = await fetch(url, { headers: { range: "bytes=-1" } });
  expect([tail.status, tail.headers.get("content-range")]).toEqual([
    206,
    `bytes ${artifactBytes - 1}-${artifactBytes - 1}/${artifactBytes}`,
  ]);
  await tail.arrayBuffer();
  own.say("now\n");
  const response = await fetch(url);
  expect(response.headers.get("content-length")).toBe(`${artifactBytes}`);
  let bytes = 0;
  for await (const piece of response.body ?? []) bytes += (piece as Uint8Array).length;
  expect(bytes).toBe(artifactBytes);
  const { grown } = await own.end();
  expect(grown).toBeLessThan(64 * 2 ** 20);
});

test("fifty who wait for a build in which nothing happens cost less than a hundredth of a processor", async () => {
  const own = await worker("idle", 50);
  const waiting = Array.from({ length: 50 }, () => {
    const stream = open(own.address);
    // Cut off at the end.
    stream.next().catch(() => undefined);
    return stream;
  });
  expect(waiting).toHaveLength(50);
  const { share } = await own.next<{ readonly share: number }>();
  expect(share).toBeLessThan(0.01);
  await own.end();
});
