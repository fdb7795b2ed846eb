import { appendFile, cp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { endOfReceived } from "./followed-end.ts";
import { listLogFiles, type Rotation } from "./log-files.ts";
import { readLogs } from "./read-logs.ts";
import { mostExtra } from "./received-files.ts";
import { type ReceivedChunk, ReceivedLog } from "./received-log.ts";
import { readReceived } from "./received-state.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const at = Date.UTC(2026, 0, 1);
const rotation: Rotation = { maxBytes: 200, maxFiles: 3, marksLoss: true };
const chunk = (seq: number, text: string, more: Partial<ReceivedChunk> = {}): ReceivedChunk => ({
  seq,
  stream: "stdout",
  at: at + seq,
  data: Buffer.from(text),
  ...more,
});

/** With a log of its own, opened anew for each use as after a crash. */
const withLog = (use: (path: string, open: () => Promise<ReceivedLog>) => Promise<void>, how: Rotation = rotation) =>
  withDirectory((directory) => {
    const path = join(directory, "w", "a.log");
    return use(path, () => ReceivedLog.open(path, how));
  });

/** 0 before the first chunk. */
async function numberOfFiles(path: string): Promise<number> {
  return (await listLogFiles(path)).length;
}

test("chunks are read back as they were printed, with the times of their own machine", () =>
  withLog(async (path, open) => {
    const log = await open();
    await log.append("s", chunk(1, "one\ntw"));
    await log.append("s", chunk(2, "o\n"));
    await log.append("s", chunk(3, "bad\n", { stream: "stderr" }));
    await log.commit();
    await log.close();
    expect(await textOf(path)).toBe("one\ntwo\nbad\n");
    expect(await textOf(path, { stream: "stderr", timestamps: true })).toBe("2026-01-01T00:00:00.003000000Z bad\n");
  }));

test("a chunk that comes twice, or before its turn, is passed over", () =>
  withLog(async (path, open) => {
    const log = await open();
    await log.append("s", chunk(1, "one\n"));
    expect(await log.append("s", chunk(1, "one\n"))).toBe(0);
    expect(await log.append("s", chunk(3, "three\n"))).toBe(0);
    await log.append("s", chunk(2, "two\n"));
    expect(log.seqOf("s")).toBe(2);
    await log.close();
    expect(await textOf(path)).toBe("one\ntwo\n");
  }));

test("a sender that begins anew goes on behind what is there", () =>
  withLog(async (path, open) => {
    const log = await open();
    await log.append("s", chunk(1, "one\n"));
    expect(log.seqOf("t")).toBe(0);
    await log.append("t", chunk(1, "uno\n"));
    expect([log.seqOf("s"), log.seqOf("t")]).toEqual([0, 1]);
    await log.close();
    expect(await textOf(path)).toBe("one\nuno\n");
  }));

test("what was not committed is taken back after a crash, and is written once when it is sent again", () =>
  withLog(async (path, open) => {
    const first = await open();
    await first.append("s", chunk(1, "one\n"));
    await first.commit();
    await first.append("s", chunk(2, "two\n"));
    // No close: the process is gone.
    await appendFile(path, "half a rec");
    const second = await open();
    expect(second.seqOf("s")).toBe(1);
    expect(await textOf(path)).toBe("one\n");
    await second.append("s", chunk(2, "two\n"));
    await second.commit();
    await second.close();
    expect(await textOf(path)).toBe("one\ntwo\n");
    await first.close();
  }));

test("nothing is left of a log of which nothing was committed", () =>
  withLog(async (path, open) => {
    const first = await open();
    await first.append("s", chunk(1, "one\n"));
    const second = await open();
    expect(second.seqOf("s")).toBe(0);
    expect(await textOf(path)).toBe("");
    await Promise.all([first.close(), second.close()]);
  }));

test("a crash at every moment of many rotations loses and doubles nothing of what is kept", async () => {
  // A line to a file, and more files than may be begun between two flushes.
  const lines = Array.from({ length: 2 * mostExtra + 1 }, (_, index) => `line ${index} ${"x".repeat(50)}\n`);
  const crash = (crashAfter: number) => async (path: string, open: () => Promise<ReceivedLog>) => {
    const append = async (log: ReceivedLog, end: number): Promise<void> => {
      for (let at = log.seqOf("s"); at < end; at++) await log.append("s", chunk(at + 1, lines[at] ?? ""));
    };
    const first = await open();
    await append(first, crashAfter);
    expect(await numberOfFiles(path)).toBe(crashAfter);
    // The disk as a killed process leaves it, under other names to the disk as well.
    const log = await open();
    await append(log, lines.length);
    await log.commit();
    await Promise.all([first.close(), log.close()]);
    expect((await textOf(path)).replaceAll(/slipway: .*\n/g, "")).toBe(lines.join(""));
  };
  // Side by side, since each mostly waits for the disk.
  await Promise.all(
    lines.map((_, crashAfter) => withLog(crash(crashAfter), { maxBytes: 150, maxFiles: 50, marksLoss: true })),
  );
});

test("the ring keeps the end, and says how much came before it", () =>
  withLog(ringTest, { ...rotation, maxBytes: 400 }));

const ringTest = async (path: string, open: () => Promise<ReceivedLog>): Promise<void> => {
  const log = await open();
  for (let seq = 1; seq <= 20; seq++) await log.append("s", chunk(seq, `line ${seq}\n`));
  await log.commit();
  await log.close();
  const text = await textOf(path);
  expect(text).toMatch(/^slipway: \d+ bytes of this log come before this line; what is not kept of them was dropped\n/);
  expect(text).toMatch(/line 19\nline 20\n$/);
  expect(text).not.toContain("line 1\n");
  expect(await numberOfFiles(path)).toBe(3);
};

test("what is durable outlives files that were begun and never committed, and a rotation that was cut short", () =>
  withLog(
    async (path, open) => {
      const first = await open();
      for (let seq = 1; seq <= 20; seq++) await first.append("s", chunk(seq, `line ${seq} ${"x".repeat(40)}\n`));
      await first.commit();
      const durable = await textOf(path);
      // What three files have at least.
      const lines = (durable.match(/^line .*$/gm) ?? []).slice(-6);
      // Three to a file, less than makes the log commit by itself.
      for (let seq = 21; seq <= 29; seq++) await first.append("s", chunk(seq, `lost ${seq} ${"x".repeat(40)}\n`));
      const files = await numberOfFiles(path);
      expect(files).toBeGreaterThan(5);
      // As a kill between two of its renames leaves them.
      await rename(`${path}.${files - 1}`, `${path}.${files}`);
      await rename(`${path}.${files - 2}`, `${path}.${files - 1}`);
      const second = await open();
      expect(second.seqOf("s")).toBe(20);
      expect((await textOf(path)).match(/^l.*$/gm)).toEqual(expect.arrayContaining(lines));
      expect(await textOf(path)).not.toContain("lost");
      await second.append("s", chunk(21, "found\n"));
      await second.commit();
      await Promise.all([first.close(), second.close()]);
      expect((await textOf(path)).endsWith(`${lines.at(-1)}\nfound\n`)).toBe(true);
    },
    { maxBytes: 420, maxFiles: 3, marksLoss: true },
  ));

test("chunks that many bring at once are committed together, each durable when its commit is answered", () =>
  withLog(
    async (path, open) => {
      const log = await open();
      const states: (number | undefined)[] = [];
      const bringing = Array.from({ length: 50 }, async (_, at) => {
        await log.append("s", chunk(at + 1, `line ${at + 1}\n`));
        await log.commit();
        expect(log.durableSeqOf("s")).toBeGreaterThan(at);
        states.push((await readReceived(path))?.seq);
      });
      await Promise.all(bringing);
      // One after the other they would have found fifty.
      expect(new Set(states).size).toBeLessThan(10);
      expect(states.every((seq, at) => seq !== undefined && seq > at)).toBe(true);
      await log.close();
      expect((await textOf(path)).split("\n")).toHaveLength(51);
    },
    { maxBytes: 100_000, maxFiles: 3 },
  ));

test("the file up to which a log is durable stays, also when it is flushed between a rotation and the first chunk after it", async () => {
  const line = `${"x".repeat(100_000)}\n`;
  const block = line.repeat(400);
  const found: number[] = [];
  // The disk decides whether it is that moment; nearly always it is one of a few.
  for (let round = 0; round < 5 && !found.includes(2); round++)
    await withLog(
      async (path, open) => {
        const log = await open();
        await log.append("s", chunk(1, "first\n"));
        // While that is flushed the second is written, and a new file begun; then the second is flushed while the third is written.
        const flushed = [log.commit()];
        const second = log.append("s", chunk(2, `durable ${"e".repeat(300)}\n`));
        flushed.push(log.commit());
        const third = log.append("s", chunk(3, block));
        await Promise.all([...flushed, second, third]);
        await log.append("s", chunk(4, "lost\n"));
        const again = await open();
        const durable = again.seqOf("s");
        found.push(durable);
        const last = durable === 2 ? "durable " : line.slice(0, 8);
        expect((await textOf(path, { tailLines: 1 })).slice(0, 8)).toBe(last);
        await Promise.all([log.close(), again.close()]);
      },
      { maxBytes: 300, maxFiles: 1, marksLoss: true },
    );
});

test("files that were copied to another disk are gone on with", () =>
  withLog(async (path, open) => {
    const log = await open();
    await log.append("s", chunk(1, "one\n"));
    await log.commit();
    await log.close();
    const folder = path.slice(0, -"/a.log".length);
    await cp(folder, `${folder}2`, { recursive: true });
    const copy = await ReceivedLog.open(`${folder}2/a.log`, rotation);
    expect(copy.seqOf("s")).toBe(1);
    await copy.append("s", chunk(2, "two\n"));
    await copy.close();
    expect(await textOf(`${folder}2/a.log`)).toBe("one\ntwo\n");
  }));

test("a chunk without data is the end, which a follower sees", () =>
  withLog(async (path, open) => {
    const stop = new AbortController();
    const follow = await endOfReceived(path, stop.signal);
    const output = readLogs(path, { follow });
    const log = await open();
    await log.append("s", chunk(1, "one\n"));
    expect(Buffer.from((await output.next()).value ?? []).toString()).toBe("one\n");
    await log.append("s", chunk(2, ""));
    await log.commit();
    expect((await output.next()).done).toBe(true);
    expect(await readReceived(path)).toMatchObject({ seq: 2, isEnded: true });
    // More may come all the same, when somebody else has said that it is the end.
    await log.append("s", chunk(3, "late\n"));
    await log.end();
    expect(await readReceived(path)).toMatchObject({ seq: 3, isEnded: true });
    await log.close();
  }));

test("a follower ends when the log is removed", () =>
  withLog(async (path, open) => {
    const stop = new AbortController();
    const follow = await endOfReceived(path, stop.signal);
    const output = readLogs(path, { follow });
    const log = await open();
    await log.append("s", chunk(1, "one\n"));
    await output.next();
    await log.close();
    const next = output.next();
    await rm(path.slice(0, -"/a.log".length), { recursive: true });
    expect((await next).done).toBe(true);
  }));

test("a disk that refuses loses nothing that was committed", () =>
  withLog(async (path, open) => {
    const log = await open();
    await log.append("s", chunk(1, "one\n"));
    await log.commit();
    await log.close();
    const broken = await open();
    // A time that no record can bear stands for whatever fails in the middle.
    await expect(broken.append("s", chunk(2, "two\n", { at: Number.NaN }))).rejects.toThrow("Invalid time value");
    expect(broken.seqOf("s")).toBe(1);
    await broken.close();
    expect(await textOf(path)).toBe("one\n");
  }));
