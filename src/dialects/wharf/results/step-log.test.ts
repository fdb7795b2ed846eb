import { type FileHandle, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { deferred, FakeClock, systemClock } from "#lib/base/index.ts";
import { Changes } from "./changes.ts";
import { followLogs, type LogFollowing } from "./follow-logs.ts";
import { linesOf } from "./log-line.ts";
import { StepLog } from "./step-log.ts";
import { openStepLog, StepLogWriter } from "./step-log-writer.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-results-"));
});
afterEach(() => rm(directory, { recursive: true }));

/** Logs of a build, without the rest of it. */
function build(steps: number) {
  const changes = new Changes();
  const logs = Array.from({ length: steps }, (_, at) => new StepLog(at + 1, join(directory, `${at + 1}.log`), changes));
  const source = { logs, changes, frozen: false };
  const freeze = () => {
    source.frozen = true;
    changes.tell();
  };
  return { logs, changes, source, freeze };
}

const first = (logs: readonly StepLog[]): StepLog => {
  if (logs[0] === undefined) throw new Error("no log");
  return logs[0];
};

/** All that a follower sees: `step/id message`. */
async function seen(source: ReturnType<typeof build>["source"], following?: LogFollowing): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const batch of followLogs(source, following)) {
    for (const { id, message } of linesOf(batch)) lines.push(`${batch.stepId}/${id} ${message}`);
  }
  return lines;
}

const numbered = (step: number, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${step}/${from + at} line ${from + at}`);

const write = (writer: StepLogWriter, from: number, to: number): void => {
  for (let at = from; at <= to; at++) writer.append("stdout", Buffer.from(`line ${at}\n`));
};

test("lines are stamped when they come, or by the runtime, and written whole", async () => {
  const { logs } = build(1);
  const clock = new FakeClock(Date.parse("2026-01-31T12:00:00.5Z"));
  const writer = await openStepLog(first(logs), { clock });
  writer.append("stdout", Buffer.from("one\ntw"));
  writer.append("stderr", Buffer.from("no end"));
  writer.append("stdout", Buffer.from("o\n"), "2026-01-31T12:00:01.123456789Z");
  writer.append("stdout", Buffer.from("three\n"), "2026-01-31T12:00:01.123456789Z");
  await writer.close();
  expect(await readFile(first(logs).path, "utf8")).toBe(
    [
      "2026-01-31T12:00:00.500Z one",
      "2026-01-31T12:00:00.500Z two",
      "2026-01-31T12:00:01.123456789Z three",
      "2026-01-31T12:00:00.500Z no end",
      "",
    ].join("\n"),
  );
  expect(first(logs)).toMatchObject({ lines: 4, ended: true, failure: undefined });
});

test("a log has one writer, also when the first one has ended", async () => {
  const { logs } = build(1);
  const writer = await openStepLog(first(logs), { clock: systemClock });
  await expect(openStepLog(first(logs), { clock: systemClock })).rejects.toMatchObject({ code: "log-taken" });
  await writer.close();
  await expect(openStepLog(first(logs), { clock: systemClock })).rejects.toMatchObject({ code: "log-taken" });
});

test("masked values are not in the file, wherever chunks are cut", async () => {
  const { logs } = build(1);
  const writer = await openStepLog(first(logs), { clock: systemClock, masked: ["s3cret-word"] });
  const text = `a s3cret-word b\n${Buffer.from("s3cret-word").toString("base64")}\ns3cret-w`;
  for (const byte of Buffer.from(text)) writer.append("stdout", Buffer.from([byte]));
  await writer.close();
  const stored = await readFile(first(logs).path, "utf8");
  expect(stored.replaceAll(/^\S+ /gm, "")).toBe("a *** b\n***\ns3cret-w\n");
});

test("followers see what was there and what comes, each line once and in order, and end when all is over", async () => {
  const { logs, source, freeze } = build(2);
  const writers = await Promise.all(logs.map((log) => openStepLog(log, { clock: systemClock })));
  writers.forEach((writer) => write(writer, 1, 50));
  const early = seen(source);
  await expect.poll(() => logs.map(({ lines }) => lines)).toEqual([50, 50]);
  const late = seen(source, { after: new Map([[2, 49]]) });
  writers.forEach((writer) => write(writer, 51, 3000));
  await Promise.all(writers.map((writer) => writer.close()));
  freeze();
  expect((await early).toSorted()).toEqual([...numbered(1, 1, 3000), ...numbered(2, 1, 3000)].toSorted());
  expect((await early).filter((line) => line.startsWith("2/"))).toEqual(numbered(2, 1, 3000));
  expect((await late).filter((line) => line.startsWith("2/"))).toEqual(numbered(2, 50, 3000));
  expect(await seen(source, { stepIds: [2, 9], after: new Map([[2, 2990]]) })).toEqual(numbered(2, 2991, 3000));
  expect(await seen(source, { stepIds: [1], after: new Map([[1, 9999]]) })).toEqual([]);
});

test("a follower that does not wait ends with what was there when it began", async () => {
  const { logs, source } = build(1);
  const writer = await openStepLog(first(logs), { clock: systemClock });
  write(writer, 1, 10);
  await expect.poll(() => first(logs).lines).toBe(10);
  const lines = followLogs(source, { follow: false });
  const before = await lines.next();
  write(writer, 11, 20);
  await expect.poll(() => first(logs).lines).toBe(20);
  expect(before).toMatchObject({ value: { firstId: 1, lines: 10 } });
  expect(await lines.next()).toMatchObject({ done: true });
  await writer.close();
});

test("a follower that waits leaves when it is told to, or when the results are closed, and leaves nothing behind", async () => {
  const { source, changes, freeze } = build(2);
  const leaving = new AbortController();
  const left = seen(source, { signal: leaving.signal });
  const closed = seen(source);
  await expect.poll(() => changes.waiting).toBe(2);
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  expect(changes.waiting).toBe(1);
  changes.close(new Error("closed"));
  await expect(closed).rejects.toThrow("closed");
  freeze();
  expect(changes.waiting).toBe(0);
});

test("steps take turns of 64 KiB", async () => {
  const { logs, source, freeze } = build(2);
  for (const log of logs) {
    const writer = await openStepLog(log, { clock: systemClock });
    writer.append("stdout", Buffer.from(`${"x".repeat(99)}\n`.repeat(3000)));
    await writer.close();
  }
  freeze();
  const turns: number[] = [];
  for await (const { stepId, bytes } of followLogs(source)) {
    turns.push(stepId);
    expect(bytes.length).toBeLessThanOrEqual(64 * 1024);
  }
  expect(turns).toEqual(turns.map((_, at) => 1 + (at % 2)));
});

test("a line of 3 MiB is followed as three messages; of a foreign one the beginning is given", async () => {
  const { logs, source, freeze } = build(2);
  const [own, foreign] = logs;
  if (own === undefined || foreign === undefined) throw new Error("no log");
  const writer = await openStepLog(own, { clock: systemClock });
  writer.append("stdout", Buffer.alloc(3 * 1024 * 1024, "x"));
  writer.append("stdout", Buffer.from("\nend\n"));
  await writer.close();
  await writeFile(foreign.path, `first\n${"y".repeat(3_000_000)}\nlast`);
  foreign.publish(3_000_011, Number.NaN);
  foreign.end();
  freeze();
  const lengths = (await seen(source)).map((line) => [line.slice(0, 4), line.length - 4]);
  const mebi = 1024 * 1024;
  expect(lengths.filter(([at]) => String(at).startsWith("1"))).toEqual([
    ["1/1 ", mebi],
    ["1/2 ", mebi],
    ["1/3 ", mebi],
    ["1/4 ", 3],
  ]);
  expect(lengths.filter(([at]) => String(at).startsWith("2"))).toEqual([
    ["2/1 ", 5],
    ["2/2 ", mebi + 64],
    ["2/3 ", 4],
  ]);
});

test("who writes faster than the disk is asked to wait, once, and told when there is room", async () => {
  const { logs } = build(1);
  let drains = 0;
  const writer = await openStepLog(first(logs), { clock: systemClock, onDrain: () => drains++ });
  const chunk = Buffer.from("x\n".repeat(100_000));
  expect([1, 2, 3].map(() => writer.append("stdout", chunk))).toEqual([false, false, false]);
  await writer.close();
  expect([drains, first(logs).lines]).toEqual([1, 300_000]);
});

test("who writes while a disk fails is not asked to wait for ever", async () => {
  const { logs } = build(1);
  const log = first(logs);
  const truncated = deferred<void>();
  const truncate = vi.fn(() => truncated.promise);
  const handle = {
    write: () => Promise.reject(Object.assign(new Error("no space left on device"), { code: "ENOSPC" })),
    truncate,
    datasync: () => Promise.resolve(),
    close: () => Promise.resolve(),
  } as unknown as FileHandle;
  const writer = new StepLogWriter(log, handle, { clock: systemClock });
  writer.append("stdout", Buffer.from("first\n"));
  await vi.waitFor(() => expect(truncate).toHaveBeenCalledTimes(1));
  const chunk = Buffer.from("x\n".repeat(600_000));
  expect(writer.append("stdout", chunk)).toBe(false);
  const drained = writer.drained();
  truncated.resolve();
  await drained;
  expect(log.failure?.message).toMatch(/no space left/);
  expect(writer.append("stdout", chunk)).toBe(true);
  await writer.close();
  expect(log.lines).toBe(0);
});
