import { statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { endRunner, removeDirectory, startServer, temporaryDirectory } from "#test/support/slipway.ts";
import { openApi } from "./suite/api.ts";
import { rounds } from "#test/support/rounds.ts";

// 55. A server under a steady load: 20 writes a second to a hundred objects. SOAK_SECONDS=86400 is the long form; from
// ten minutes on, when history has as long a past as it ever has, memory may not grow any more.

const seconds = Number(process.env["SOAK_SECONDS"] ?? rounds(10, 600));
const perSecond = 20;
const megabyte = 2 ** 20;
/** History is kept for five minutes, and is looked at every thirty seconds. */
const settledAfter = 600;

interface Sample {
  readonly at: number;
  readonly memory: number;
  readonly files: number;
}

test(`${perSecond} writes a second for ${seconds} s need a bounded store${seconds > settledAfter ? " and no more memory than at first" : ""}`, {
  timeout: (seconds + 300) * 1000,
}, async () => {
  const directory = await temporaryDirectory();
  const server = await startServer(directory, ["--log-level", "warn"]);
  const api = await openApi(server.kubeconfig);
  const maps = "/api/v1/namespaces/default/configmaps";
  const samples: Sample[] = [];
  const sample = async (at: number) => {
    const status = await readFile(`/proc/${server.process.pid}/status`, "utf8");
    const memory = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    samples.push({ at, memory, files: (await sizeOf(join(directory, "store"))) / megabyte });
  };
  const begun = systemClock.monotonic();
  const write = async (count: number): Promise<void> => {
    const name = `steady-${count % 100}`;
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: { count: String(count), fill: "x".repeat(1000) },
    };
    const isNew = count < 100;
    const { status, text } = await api.ask(isNew ? "POST" : "PUT", isNew ? maps : `${maps}/${name}`, { body });
    expect(status, text).toBe(isNew ? 201 : 200);
  };
  for (let count = 0; count < seconds * perSecond; count++) {
    await write(count);
    const second = Math.floor(count / perSecond);
    if (count % perSecond === 0 && (second % 60 === 0 || second === seconds - 1)) await sample(second);
    // Steady, not as fast as can be: the next write is due at its own time.
    await sleep(systemClock, Math.max(0, begun + (count * 1000) / perSecond - systemClock.monotonic()));
  }
  const last = Math.max(0, seconds * perSecond - 1);
  const stored = await api.ask("GET", `${maps}/steady-${last % 100}`);
  expect(stored.json["data"]?.["count"]).toBe(String(last));
  api.close();
  expect(await server.stop()).toBe(0);
  await endRunner(directory);
  await removeDirectory(directory);
  for (const { at, memory, files } of samples)
    process.stderr.write(`steady: after ${at} s memory ${memory.toFixed(0)} MB, store ${files.toFixed(1)} MB\n`);
  const settled = samples.filter(({ at }) => at >= settledAfter);
  const [reference] = settled;
  for (const { memory, files } of settled) {
    expect(memory).toBeLessThan((reference?.memory ?? 0) * 1.1);
    expect(files).toBeLessThan((reference?.files ?? 0) * 1.5 + 1);
  }
  // 20 KB a second and what they replace: more would be history that nobody forgets.
  expect(samples.at(-1)?.files).toBeLessThan(128);
});

async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder);
  // The server may have removed one meanwhile.
  const blocksOf = (file: string) => statSync(join(folder, file), { throwIfNoEntry: false })?.blocks ?? 0;
  return files.reduce((sum, file) => sum + blocksOf(file) * 512, 0);
}
