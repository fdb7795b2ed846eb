import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { FakeClock, SlipwayError, systemClock } from "#lib/base/index.ts";
import { readTar } from "#kernel/artifacts/index.ts";
import type { PodStreams } from "#kernel/kit/index.ts";
import { Patience } from "../patience.ts";
import { clusterCounterpart } from "./cluster.ts";
import { archivesOf } from "./transfer.ts";

const whole = Buffer.from(Array.from({ length: 500 }, (_, line) => `line ${line}\n`).join(""));
const { signal } = new AbortController();
const pod = { namespace: "builds", name: "step" };

/** Pods whose `tar` prints this in chunks of 100 bytes, of which each connection brings as many as `cuts` says, the last ones all of them. */
function podsWith(cuts: readonly number[], content: (connection: number) => Buffer = () => whole) {
  const seen = { connections: 0 };
  const streams: PodStreams = {
    async exec(_pod, { stdout }) {
      const connection = seen.connections++;
      const bytes = content(connection);
      const cut = cuts[connection];
      for (let at = 0; at < Math.min(cut ?? Infinity, bytes.length); at += 100) {
        stdout?.write(bytes.subarray(at, Math.min(at + 100, cut ?? Infinity)));
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (cut === undefined) {
        stdout?.end();
        return { exitCode: 0 };
      }
      stdout?.destroy();
      throw new SlipwayError("connection-failed", "it ended in the middle");
    },
    portForward: () => Promise.reject(new Error("nobody forwards ports here")),
    close: () => undefined,
  };
  return { streams, seen };
}

async function fetched(streams: PodStreams, patience = new Patience(systemClock, 60_000, clusterCounterpart)) {
  const archive = await archivesOf(streams, pod, patience, signal)("/mnt/repo");
  return await buffer(archive ?? Readable.from([]));
}

test.each([
  ["in the middle of it, again and again", [250, 730, 731, 4000]],
  ["before its first byte", [0]],
  ["before what was there already has come again", [1000, 400, 1000]],
  ["after its last byte, before its end was told", [whole.length]],
])("an archive that is cut %s is whole", async (_title, cuts) => {
  const { streams, seen } = podsWith(cuts);
  expect((await fetched(streams)).toString()).toBe(whole.toString());
  expect(seen.connections).toBe(cuts.length + 1);
});

test("a file whose name looks like an option of tar is a file", async () => {
  const directory = await mkdtemp(join(tmpdir(), "slipway-tar-"));
  const name = "--checkpoint-action=exec=touch evil";
  await writeFile(join(directory, name), "content");
  const streams: PodStreams = {
    ...podsWith([]).streams,
    async exec(_pod, { command: [program = "", ...words], stdout }) {
      stdout?.end(execFileSync(program, words, { cwd: directory }));
      return { exitCode: 0 };
    },
  };
  const patience = new Patience(systemClock, 60_000, clusterCounterpart);
  const archive = await archivesOf(streams, pod, patience, signal)(join(directory, name));
  const found: string[] = [];
  for await (const { path } of readTar(archive ?? Readable.from([]))) found.push(path);
  expect(found).toEqual([name]);
  expect(await readdir(directory)).toEqual([name]);
  await rm(directory, { recursive: true });
});

test.each([
  ["others", Buffer.from(whole.toString().replace("line 3", "LINE 3"))],
  ["fewer", whole.subarray(0, 200)],
])("bytes that are %s the next time are not put together with the first ones", async (_title, later) => {
  const { streams } = podsWith([1000], (connection) => (connection === 0 ? whole : later));
  await expect(fetched(streams)).rejects.toMatchObject({ reason: "Artifacts" });
});

test("a cluster that brings nothing new any more is lost", async () => {
  const { streams, seen } = podsWith([1000, 1000]);
  const patience = new Patience(new FakeClock(), 0, clusterCounterpart);
  await expect(fetched(streams, patience)).rejects.toMatchObject({ reason: "RuntimeLost" });
  expect(seen.connections).toBe(2);
});

test("what is refused is not asked again", async () => {
  const { streams } = podsWith([]);
  let asked = 0;
  const refused = new SlipwayError("forbidden", "no exec for you");
  const exec = ((_pod, { stdout }) => {
    asked++;
    stdout?.destroy();
    return Promise.reject(refused);
  }) satisfies PodStreams["exec"];
  await expect(fetched({ ...streams, exec })).rejects.toBe(refused);
  expect(asked).toBe(1);
});
