import { access, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { recordsPerEntry, readIndex } from "./line-index.ts";
import { LogWriter } from "./log-writer.ts";
import { prefixLength } from "./record.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const start = Date.UTC(2026, 0, 1);

/** Two megabytes of output in lines of a hundred bytes. */
const lines = (text: string): Buffer => Buffer.alloc(2_000_000, `${text.repeat(99)}\n`);

/** Every write to this device fails as on a full disk. */
const fullDisk = "/dev/full";
const hasFullDisk = await access(fullDisk).then(
  () => true,
  () => false,
);

/** Files of logs without their indexes. */
const logsIn = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory)).filter((name) => !name.endsWith(".idx")).sort();

test("the two streams stand in the file in the order in which they came", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const writer = new LogWriter(path, { clock: systemClock });
    for (let turn = 0; turn < 100; turn++) {
      writer.append(turn % 2 === 0 ? "stdout" : "stderr", Buffer.from(`${turn}\n`));
      if (turn % 7 === 0) await writer.flushed();
    }
    await writer.close();
    expect((await textOf(path)).trimEnd().split("\n")).toEqual(Array.from({ length: 100 }, (_, turn) => `${turn}`));
  }));

test("masked values are not in the file, whichever stream they come on and however they are cut", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock, masked: ["hunter22"] });
    writer.append("stdout", Buffer.from("a hunt"));
    writer.append("stderr", Buffer.from("b hunter2"));
    writer.append("stdout", Buffer.from("er22\n"));
    // An unfinished line is shown after a while, but not what may be the beginning of a value.
    await clock.advance(1000);
    await writer.flushed();
    expect(await textOf(path)).toBe("a ***\nb ");
    writer.append("stderr", Buffer.from("2\nhunter"));
    await writer.close();
    expect(await textOf(path)).toBe("a ***\nb ***\nhunter");
    expect(await readFile(path, "utf8")).not.toContain("hunter2");
  }));

test("directories are made when the first output comes, and not readable by everybody", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "pod", "main", "0.log");
    const writer = new LogWriter(path, { clock: systemClock });
    expect(await readdir(directory)).toEqual([]);
    writer.append("stdout", Buffer.from("x\n"));
    await writer.close();
    expect((await stat(path)).mode & 0o007).toBe(0);
    expect((await stat(join(directory, "pod", "main"))).mode & 0o007).toBe(0);
  }));

test("a directory that is cleaned away between two files of a log is made again", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "pod", "0.log");
    const first = new LogWriter(path, { clock: systemClock });
    first.append("stdout", Buffer.from("x\n"));
    await first.close();
    await rm(join(directory, "pod"), { recursive: true });
    const second = new LogWriter(path, { clock: systemClock });
    second.append("stdout", Buffer.from("y\n"));
    await second.close();
    expect(second.failure).toBeUndefined();
    expect(await textOf(path)).toBe("y\n");
  }));

test("a file that is there is continued", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    for (const text of ["one\n", "two\n"]) {
      const writer = new LogWriter(path, { clock: systemClock });
      writer.append("stdout", Buffer.from(text));
      await writer.close();
    }
    expect(await textOf(path)).toBe("one\ntwo\n");
  }));

test("a file that is there counts for the rotation, too", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const rotation = { maxBytes: 150, maxFiles: 5 };
    for (let run = 0; run < 4; run++) {
      const writer = new LogWriter(path, { clock: systemClock, rotation });
      writer.append("stdout", Buffer.from(`${"x".repeat(30)}\n`));
      // The first write finds out how large the file is; the second one knows.
      await writer.flushed();
      writer.append("stdout", Buffer.from(`${"y".repeat(30)}\n`));
      await writer.close();
    }
    const sizes = await Promise.all(
      (await readdir(directory)).map(async (name) => (await stat(join(directory, name))).size),
    );
    expect(Math.max(...sizes)).toBeLessThanOrEqual(150 + prefixLength + 31);
    expect((await textOf(path)).split("\n")).toHaveLength(9);
  }));

test.each([1, 2, 3])("with a rotation of %d files there are never more", (maxFiles) =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const writer = new LogWriter(path, { clock: systemClock, rotation: { maxBytes: 100, maxFiles } });
    for (let line = 0; line < 20; line++) {
      writer.append("stdout", Buffer.from(`line ${line}\n`));
      await writer.flushed();
    }
    await writer.close();
    expect(writer.failure).toBeUndefined();
    expect(await logsIn(directory)).toHaveLength(maxFiles);
    const lines = (await textOf(path)).trimEnd().split("\n");
    expect(lines.at(-1)).toBe("line 19");
    expect(lines).toHaveLength(2 * maxFiles);
  }),
);

test("one write that is larger than a file may be is not cut", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const writer = new LogWriter(path, { clock: systemClock, rotation: { maxBytes: 100, maxFiles: 3 } });
    writer.append("stdout", Buffer.from("before\n"));
    await writer.flushed();
    writer.append("stdout", Buffer.from(`${"x".repeat(5_000)}\n`));
    await writer.flushed();
    writer.append("stdout", Buffer.from("after\n"));
    await writer.close();
    expect(await textOf(path)).toBe(`before\n${"x".repeat(5_000)}\nafter\n`);
    expect(await logsIn(directory)).toEqual(["0.log", "0.log.1", "0.log.2"]);
  }));

test("an index goes with its file when that is rotated, and with it for ever", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const lineLength = prefixLength + 2;
    const rotation = { maxBytes: 300 * lineLength, maxFiles: 2 };
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock, rotation });
    for (let line = 0; line < 900; line++) {
      writer.append("stdout", Buffer.from("x\n"));
      if (line % 4 === 3) await writer.flushed();
    }
    await writer.close();
    expect((await readdir(directory)).sort()).toEqual(["0.log", "0.log.1", "0.log.1.idx", "0.log.idx"]);
    for (const file of [path, `${path}.1`]) {
      const entries = await readIndex(file, (await stat(file)).size);
      const first = file === path ? 600 : 300;
      expect(entries).toMatchObject([
        { line: first, offset: 0 },
        { line: first + recordsPerEntry, offset: recordsPerEntry * lineLength },
      ]);
    }
  }));

test("every entry of an index is the start of a record of its time", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    for (let chunk = 0; chunk < 60; chunk++) {
      writer.append("stdout", Buffer.from(`${"line\n".repeat(chunk)}piece`));
      if (chunk % 3 === 0) await writer.flushed();
      await clock.advance(100);
    }
    await writer.close();
    const bytes = await readFile(path);
    const entries = await readIndex(path, bytes.length);
    expect(entries.length).toBeGreaterThan(3);
    for (const { line, offset, at } of entries) {
      const before = bytes.subarray(0, offset).toString("latin1").split("\n");
      expect(before.filter((record) => / std(?:out|err) F /.test(record))).toHaveLength(line);
      expect(before.at(-1)).toBe("");
      expect(bytes.toString("latin1", offset, offset + 23)).toBe(new Date(at).toISOString().slice(0, 23));
    }
  }));

test("an unfinished line is written once its patience is over, and only then", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    writer.append("stdout", Buffer.from("out"));
    await clock.advance(200);
    // The patience counts from the first unfinished line on, so that a dripping producer cannot put it off for ever.
    writer.append("stderr", Buffer.from("err"));
    await clock.advance(49);
    await writer.flushed();
    expect(await readdir(directory)).toEqual([]);
    await clock.advance(1);
    await writer.flushed();
    expect(await textOf(path)).toBe("outerr");
    writer.append("stdout", Buffer.from("again"));
    await clock.advance(250);
    await writer.flushed();
    expect(await textOf(path)).toBe("outerragain");
    await writer.close();
  }));

test("closing writes what is held, and the clock has nothing left to do", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    writer.append("stdout", Buffer.from("no newline"));
    await writer.close();
    expect(await textOf(path)).toBe("no newline");
    await clock.advance(1_000);
    expect(await textOf(path)).toBe("no newline");
  }));

test("who was asked to wait is told once that it is over", () =>
  withDirectory(async (directory) => {
    let drains = 0;
    const writer = new LogWriter(join(directory, "0.log"), { clock: systemClock, onDrain: () => drains++ });
    // The first chunk is on its way at once; it is the next ones that gather.
    expect(writer.append("stdout", lines("x"))).toBe(true);
    expect(writer.append("stdout", lines("y"))).toBe(false);
    expect(writer.append("stdout", lines("z"))).toBe(false);
    await writer.flushed();
    expect(drains).toBe(1);
    expect(writer.append("stdout", Buffer.from("small\n"))).toBe(true);
    await writer.close();
    expect(drains).toBe(1);
    expect((await textOf(join(directory, "0.log"))).length).toBe(6_000_006);
  }));

test.skipIf(!hasFullDisk)("a full disk ends the log and lets the process print on", async () => {
  let drains = 0;
  const writer = new LogWriter(fullDisk, { clock: systemClock, onDrain: () => drains++ });
  writer.append("stdout", Buffer.from("first\n"));
  expect(writer.append("stdout", lines("x"))).toBe(false);
  await writer.flushed();
  expect(writer.failure).toMatchObject({ code: "ENOSPC" });
  // Whoever was asked to wait must not wait for ever.
  expect(drains).toBe(1);
  for (let chunk = 0; chunk < 100; chunk++) {
    expect(writer.append("stdout", lines("y"))).toBe(true);
  }
  await writer.close();
  expect(writer.failure).toMatchObject({ code: "ENOSPC" });
});

test("a log that has failed once gets nothing more, should the disk be well again", () =>
  withDirectory(async (directory) => {
    await writeFile(join(directory, "pod"), "in the way of a directory");
    const path = join(directory, "pod", "0.log");
    const writer = new LogWriter(path, { clock: systemClock });
    writer.append("stdout", Buffer.from("first\n"));
    writer.append("stdout", Buffer.from("held"));
    await writer.flushed();
    expect(writer.failure).toMatchObject({ code: "ENOTDIR" });
    await rm(join(directory, "pod"));
    await mkdir(join(directory, "pod"));
    writer.append("stdout", Buffer.from(" and later\n"));
    await writer.close();
    expect(await readdir(join(directory, "pod"))).toEqual([]);
  }));

test("a log that marks its losses says in its first line how much came before, also when another writer goes on", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const rotation = { maxBytes: 1000, maxFiles: 3, marksLoss: true };
    let printed = 0;
    for (let turn = 0; turn < 40; turn++) {
      const writer = new LogWriter(path, { clock: new FakeClock(start), rotation });
      for (let line = 0; line < 3; line++) {
        writer.append("stdout", Buffer.from(`${"x".repeat(59)}\n`));
        await writer.flushed();
        printed += prefixLength + 60;
      }
      await writer.close();
    }
    const files = ["0.log.2", "0.log.1", "0.log"].map((name) => join(directory, name));
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
    const kept = texts.join("").length;
    const marked = texts.map((text) => Number(/^\S+ stdout F slipway: (\d+) bytes of this log/.exec(text)?.[1]));
    expect(marked.map((bytes, at) => bytes + (texts[at]?.length ?? 0)).slice(0, 2)).toEqual(marked.slice(1));
    // What is gone are the lines that were printed, and a mark at the head of each file but the first.
    const marks = Math.round((marked[0] ?? 0) / 1000);
    expect((marked[0] ?? 0) + kept).toBeGreaterThan(printed);
    expect((marked[0] ?? 0) + kept - printed).toBeLessThan((marks + 4) * 200);
  }));

test("a log that was never cut has no mark, and one that does not mark its losses has none either", () =>
  withDirectory(async (directory) => {
    for (const [name, rotation] of [
      ["a", { maxBytes: 10_000_000, maxFiles: 2, marksLoss: true }],
      ["b", { maxBytes: 100, maxFiles: 2 }],
    ] as const) {
      const path = join(directory, name);
      const writer = new LogWriter(path, { clock: new FakeClock(start), rotation });
      for (let line = 0; line < 20; line++) {
        writer.append("stdout", Buffer.from("line\n"));
        await writer.flushed();
      }
      await writer.close();
      expect(await textOf(path)).not.toContain("slipway");
    }
  }));
