import { seededRandom } from "#kernel/kit/testing/index.ts";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { feedStart, LogWriter } from "#kernel/streams/index.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { logRotation } from "../logs/places.ts";
import { clearLog } from "./action-log.ts";
import { advancePush, newPush } from "./log-push.ts";
import { LogPusher } from "./log-pusher.ts";
import { logPathOf } from "./places.ts";
import { agentWorkflow, execution } from "./testing/executions.ts";
import { MemorySink } from "./testing/memory-sink.ts";

const w = agentWorkflow("w", "one", "two");
const one = execution(w);

let directory = "";
let stop = new AbortController();
let running: Promise<void> = Promise.resolve();
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-push-"));
});
afterEach(async () => {
  stop.abort(new Error("the test is over"));
  await running;
  await rm(directory, { recursive: true, force: true });
});

/** A process of an agent that sends; one before it is gone. */
async function begin(sink: MemorySink, batchBytes?: number): Promise<LogPusher> {
  stop.abort(new Error("killed"));
  await running;
  stop = new AbortController();
  // Waits of real time are short: what is judged is what has arrived, not when.
  const clock = { ...systemClock, after: (_delay: number, run: () => void) => systemClock.after(1, run) };
  const batch = batchBytes === undefined ? {} : { batchBytes };
  const pusher = new LogPusher({ directory, clock, random: seededRandom(1), log: silentLog, ...batch });
  await pusher.open();
  running = pusher.run(sink, stop.signal);
  return pusher;
}
const writer = (of = one) => new LogWriter(logPathOf(directory, of), { clock: systemClock, rotation: logRotation });
const arrived = (sink: MemorySink, action = "id-one") => expect.poll(() => sink.textOf(w.id, action));

test("what an action prints arrives as it comes, then its end", async () => {
  const sink = new MemorySink();
  const pusher = await begin(sink);
  await pusher.began(one);
  const log = writer();
  log.append("stdout", Buffer.from("one\n"));
  await arrived(sink).toBe("one\n");
  log.append("stdout", Buffer.from("two\n"));
  await log.close();
  pusher.ended(one);
  await arrived(sink).toBe("one\ntwo\n(end)");
});

test("an action that prints nothing is at its end, too", async () => {
  const sink = new MemorySink();
  const pusher = await begin(sink);
  await pusher.began(one);
  pusher.ended(one);
  await arrived(sink).toBe("(end)");
});

test("what a server does not want is not sent again", async () => {
  const sink = new MemorySink();
  sink.isRefusing = true;
  const pusher = await begin(sink);
  await pusher.began(one);
  const log = writer();
  log.append("stdout", Buffer.from("one\n"));
  await log.close();
  pusher.ended(one);
  await expect.poll(async () => (await readdir(dirname(logPathOf(directory, one)))).join()).toContain("push");
  await begin(sink);
  sink.isRefusing = false;
  const other = await begin(sink);
  const two = execution(w, 1);
  await other.began(two);
  other.ended(two);
  await arrived(sink, "id-two").toBe("(end)");
  expect(sink.textOf(w.id, "id-one")).toMatch(/^(one\n\(end\))?$/);
});

test("the log of an action whose agent has begun anew is sent to its end", async () => {
  const sink = new MemorySink();
  const first = await begin(sink);
  await first.began(one);
  const log = writer();
  log.append("stdout", Buffer.from("one\n"));
  await arrived(sink).toBe("one\n");
  stop.abort(new Error("killed"));
  log.append("stdout", Buffer.from("two\n"));
  await log.close();
  await begin(sink);
  await arrived(sink).toBe("one\ntwo\n(end)");
});

test("a second attempt goes on in the same log", async () => {
  const sink = new MemorySink();
  const pusher = await begin(sink);
  await pusher.began(one);
  const log = writer();
  log.append("stdout", Buffer.from("one\n"));
  await log.close();
  pusher.ended(one);
  await arrived(sink).toBe("one\n(end)");
  await pusher.began(execution(w, 0, 2));
  const again = writer();
  again.append("stdout", Buffer.from("again\n"));
  await again.close();
  pusher.ended(execution(w, 0, 2));
  await arrived(sink).toBe("one\nagain\n(end)");
});

test("a second attempt is sent, whenever it begins while the end of the first is noted", async () => {
  const sink = new MemorySink();
  const pusher = await begin(sink);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (let turns = 0; turns < 60; turns++) {
    const each = agentWorkflow(`w${turns}`, "one");
    const [first, second] = [execution(each), execution(each, 0, 2)];
    await pusher.began(first);
    pusher.ended(first);
    while (sink.textOf(each.id, "id-one") !== "(end)") await turn();
    for (let passed = 0; passed < turns; passed++) await turn();
    await pusher.began(second);
    const log = writer(second);
    log.append("stdout", Buffer.from("again\n"));
    await log.close();
    pusher.ended(second);
    await expect.poll(() => sink.textOf(each.id, "id-one"), { interval: 1 }).toBe("again\n(end)");
  }
});

test.each([
  { seed: 1, calls: 1 },
  { seed: 2, calls: 1 },
  { seed: 3, calls: 1 },
  { seed: 4, calls: 3 },
  { seed: 5, calls: 3 },
  { seed: 6, calls: 4 },
])("no line is lost or doubled, whatever breaks: seed $seed, $calls calls at once", async ({ seed, calls }) => {
  const random = seededRandom(seed);
  const sink = new MemorySink(calls);
  sink.trouble = (chunks) =>
    random() < 0.5
      ? { arrive: chunks, isAnswered: true }
      : { arrive: Math.floor(random() * (chunks + 1)), isAnswered: random() < 0.3 };
  // Batches of some lines each, so that there are several under way.
  let pusher = await begin(sink, 500);
  await pusher.began(one);
  let log = writer();
  const lines: string[] = [];
  for (let round = 0; round < 25; round++) {
    for (let line = 0; line < 20; line++) {
      lines.push(`${round}.${line} ${"x".repeat(Math.floor(random() * 300))}\n`);
      log.append("stdout", Buffer.from(lines.at(-1) ?? ""));
      if (random() < 0.3) await log.flushed();
    }
    if (random() < 0.4) {
      pusher = await begin(sink, 500);
      await pusher.began(one);
    }
    if (random() < 0.15) {
      // As from the engine's copy: the same text, in other pieces.
      await log.close();
      await clearLog(logPathOf(directory, one));
      log = writer();
      const whole = lines.join("");
      for (let at = 0; at < whole.length; at += 1000) log.append("stdout", Buffer.from(whole.slice(at, at + 1000)));
    }
  }
  await log.close();
  pusher.ended(one);
  await arrived(sink).toBe(`${lines.join("")}(end)`);
  expect(sink.mostAtOnce).toBeLessThanOrEqual(calls);
});

test("an answer to a batch that has waited in vain for the one before it sends nothing twice", async () => {
  const sink = new MemorySink(3);
  let calls = 0;
  // What it says is how far the log was before the first was heard.
  sink.trouble = (arrive) => (++calls === 2 ? { arrive: 0, isAnswered: true, says: 0 } : { arrive, isAnswered: true });
  const lines = Array.from({ length: 12 }, (_, at) => `${at} ${"x".repeat(40_000)}\n`);
  const log = writer();
  for (const line of lines) log.append("stdout", Buffer.from(line));
  await log.close();
  const pusher = await begin(sink, 300);
  await pusher.began(one);
  pusher.ended(one);
  await arrived(sink).toMatch(/\(end\)$/);
  expect(sink.textOf(w.id, "id-one").replaceAll("x", "")).toBe(`${lines.join("")}(end)`.replaceAll("x", ""));
  expect(calls).toBeGreaterThan(3);
});

test("an answer that says less than the one before takes nothing back", () => {
  const places = [1, 2, 3, 4].map((place) => ({ ...feedStart, at: place }));
  const sent = { ...newPush("w", "a"), underWay: places };
  const advanced = advancePush(sent, 3);
  expect(advanced).toMatchObject({ seq: 3, place: places[2], underWay: places.slice(3) });
  expect(advancePush(advanced, 1)).toEqual(advanced);
});

test("a server that has lost what it had acknowledged gets what is left here", async () => {
  const sink = new MemorySink();
  const pusher = await begin(sink);
  await pusher.began(one);
  const log = writer();
  log.append("stdout", Buffer.from("one\n"));
  await arrived(sink).toBe("one\n");
  sink.forget();
  log.append("stdout", Buffer.from("two\n"));
  await log.close();
  pusher.ended(one);
  await arrived(sink).toBe("one\ntwo\n(end)");
});

test("100 MiB that come faster than they are sent leave the last ten, after a line that says what is missing", async () => {
  const sink = new MemorySink();
  sink.trouble = () => ({ arrive: 0, isAnswered: false });
  const pusher = await begin(sink);
  await pusher.began(one);
  const log = writer();
  const block = Buffer.from(`${"x".repeat(1023)}\n`.repeat(64));
  for (let written = 0; written < 100 * 1024 * 1024; written += block.length)
    if (!log.append("stdout", Buffer.from(block))) await log.flushed();
  log.append("stdout", Buffer.from("the end\n"));
  await log.close();
  pusher.ended(one);
  sink.trouble = (arrive) => ({ arrive, isAnswered: true });
  await arrived(sink).toMatch(/the end\n\(end\)$/);
  const text = sink.textOf(w.id, "id-one");
  expect(text).toMatch(
    /^slipway: \d{8,9} bytes of this log come before this line; what is not kept of them was dropped\n/,
  );
  expect(text.length).toBeGreaterThan(9 * 1024 * 1024);
  expect(text.length).toBeLessThan(13 * 1024 * 1024);
  // Frames, not a message a line.
  expect(sink.calls.reduce((sum, chunks) => sum + chunks, 0)).toBeLessThan(2000);
});

test("logs of the last hundred workflows stay", async () => {
  for (let at = 0; at < 105; at++) {
    const folder = join(directory, "logs", `old-${at}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "a.log"), "");
    await utimes(folder, at + 1, at + 1);
  }
  const pusher = await begin(new MemorySink());
  await pusher.began(one);
  const left = await readdir(join(directory, "logs"));
  expect(left).toHaveLength(100);
  expect(left).toContain("old-104");
  expect(left).toContain("uid-w");
  expect(left).not.toContain("old-5");
});
