import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { readResults } from "../../src/dialects/wharf/results/read-results.ts";
import type { Results } from "../../src/dialects/wharf/results/results.ts";
import { createResults } from "../../src/dialects/wharf/results/results-store.ts";
import { newBuild } from "../../src/dialects/wharf/results/testing/new-build.ts";
import { serveResults } from "../../src/dialects/wharf/worker-api/serve-results.ts";
import { silentLog, systemClock } from "../../src/lib/base/index.ts";

// A worker that serves its build. Usage: DIRECTORY log MEBIBYTES | artifact BYTES | idle FOLLOWERS. Says its address as a line of JSON, then, when its stdin has ended,
// how many lines there are and by how many bytes its memory has grown since the first sixteenth of the log, or since it was asked first. An idle one says what
// share of a processor it has taken for ten seconds.

const [, , directory = "", kind = "", amount = "0"] = process.argv;
const chunk = Buffer.from(`${"x".repeat(99)}\n`.repeat(655));

let [before, most] = [0, 0];
const look = (): void => void (most = Math.max(most, process.memoryUsage.rss()));
const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

async function serve(results: Results): Promise<void> {
  const { address } = await serveResults(results, { address: "127.0.0.1:0", clock: systemClock, log: silentLog });
  say({ address });
}

async function printLog(): Promise<Results> {
  const results = await createResults(directory, newBuild(1), { clock: systemClock });
  await serve(results);
  // Until those who follow are there.
  while (results.changes.waiting < 10) await new Promise(setImmediate);
  let drained = (): void => undefined;
  const writer = await results.openLog(1, { onDrain: () => drained() });
  const chunks = Math.ceil((Number(amount) * 2 ** 20) / chunk.length);
  for (let at = 0; at < chunks; at++) {
    const drain = new Promise<void>((resolve) => (drained = resolve));
    if (!writer.append("stdout", Buffer.from(chunk))) await drain;
    await new Promise(setImmediate);
    look();
    if (at * 16 < chunks) before = most;
  }
  await results.setStatus(1, "Success", 0);
  await results.finish({ status: "Success" });
  await results.freeze();
  return results;
}

/** With holes, so that no disk has to hold it. */
async function leaveArtifact(): Promise<Results> {
  const written = await createResults(directory, newBuild(1), { clock: systemClock });
  const source = {
    name: "large.bin",
    async *open() {
      yield Buffer.from("begin");
    },
  };
  await written.addArtifacts(1, [source]);
  await written.freeze();
  await truncate(join(written.directory, "steps/1/artifacts/1_large.bin"), Number(amount));
  const results = await readResults(written.directory, systemClock);
  await serve(results);
  return results;
}

/** Nothing happens in the build. */
async function waitIdle(): Promise<Results> {
  const results = await createResults(directory, newBuild(4), { clock: systemClock });
  await serve(results);
  while (results.changes.waiting < Number(amount)) await new Promise((resolve) => setTimeout(resolve, 100));
  const [before, from] = [process.cpuUsage(), performance.now()];
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  const { user, system } = process.cpuUsage(before);
  say({ share: (user + system) / 1000 / (performance.now() - from) });
  return results;
}

const kinds: Readonly<Record<string, () => Promise<Results>>> = {
  log: printLog,
  artifact: leaveArtifact,
  idle: waitIdle,
};
const results = await (kinds[kind] ?? printLog)();
if (kind === "artifact") {
  const { value } = (await process.stdin[Symbol.asyncIterator]().next()) as { value: unknown };
  if (value !== undefined) look();
  before = most;
  setInterval(look, 20);
}
process.stdin.resume();
process.stdin.once("end", () => {
  look();
  say({ lines: results.logs[0]?.lines, grown: Math.max(0, most - before) });
  process.exit(0);
});
