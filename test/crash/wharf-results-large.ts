import { createResults } from "../../src/dialects/wharf/results/results-store.ts";
import { followLogs } from "../../src/dialects/wharf/results/follow-logs.ts";
import { newBuild } from "../../src/dialects/wharf/results/testing/new-build.ts";
import { systemClock } from "../../src/lib/base/index.ts";

// A worker with a large log. Usage: DIRECTORY MEBIBYTES FOLLOWERS. Says as JSON how many lines there were, what followers were given of them, and by
// how many bytes its memory has grown, the first sixteenth not counted.

const [, , directory = "", mebibytes = "0", followers = "0"] = process.argv;
const chunk = Buffer.from(`${"x".repeat(99)}\n`.repeat(655));
const chunks = Math.ceil((Number(mebibytes) * 2 ** 20) / chunk.length);

const results = await createResults(directory, newBuild(1), { clock: systemClock });
let drained = (): void => undefined;
const writer = await results.openLog(1, { onDrain: () => drained() });

async function follow(): Promise<number> {
  let last = 0;
  for await (const { firstId, lines } of followLogs(results)) {
    if (firstId !== last + 1) throw new Error(`line ${firstId} came after ${last}`);
    last += lines;
  }
  return last;
}
const following = Array.from({ length: Number(followers) }, follow);
let [before, most] = [0, 0];
for (let at = 0; at < chunks; at++) {
  const drain = new Promise<void>((resolve) => (drained = resolve));
  if (!writer.append("stdout", Buffer.from(chunk))) await drain;
  await new Promise(setImmediate);
  const rss = process.memoryUsage.rss();
  if (at * 16 < chunks) before = Math.max(before, rss);
  most = Math.max(most, rss);
}
await results.setStatus(1, "Success", 0);
await results.finish({ status: "Success" });
await results.freeze();
const given = await Promise.all(following);
process.stdout.write(
  `${JSON.stringify({ lines: results.logs[0]?.lines, given, grown: Math.max(0, most - before) })}\n`,
);
