import { appendFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { LogWriter } from "./log-writer.ts";
import { readIndex } from "./line-index.ts";
import { readLogs } from "./read-logs.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const start = Date.UTC(2026, 0, 1);

/** Writes one line per second, waiting for each, so that every line is a batch of its own. */
async function writeLines(path: string, count: number, options: { maxBytes?: number; from?: number } = {}) {
  const from = options.from ?? 0;
  const clock = new FakeClock(start + from * 1000);
  const rotation = { maxBytes: options.maxBytes ?? 10_000_000, maxFiles: 5 };
  const writer = new LogWriter(path, { clock, rotation });
  for (let line = from; line < from + count; line++) {
    writer.append("stdout", Buffer.from(`line ${line}\n`));
    await writer.flushed();
    await clock.advance(1000);
  }
  await writer.close();
}

test("a log that was never written is empty", () =>
  withDirectory(async (directory) => {
    expect(await textOf(join(directory, "none", "0.log"))).toBe("");
  }));

test("a process that prints nothing leaves no file", () =>
  withDirectory(async (directory) => {
    const writer = new LogWriter(join(directory, "0.log"), { clock: systemClock });
    await writer.close();
    expect(await readdir(directory)).toEqual([]);
  }));

test("timestamps stand in front of lines, not of pieces of lines", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    writer.append("stdout", Buffer.from("half "));
    await clock.advance(300);
    writer.append("stdout", Buffer.from("line\nnext\n"));
    await writer.close();
    expect(await textOf(path, { timestamps: true })).toBe(
      "2026-01-01T00:00:00.250000000Z half line\n2026-01-01T00:00:00.300000000Z next\n",
    );
  }));

test("an unfinished line can be read after a quarter of a second", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    const follow = new AbortController();
    const output = readLogs(path, { follow: follow.signal });
    writer.append("stdout", Buffer.from("continue? "));
    const first = output.next();
    await clock.advance(250);
    expect(Buffer.from((await first).value ?? []).toString()).toBe("continue? ");
    follow.abort();
    expect((await output.next()).done).toBe(true);
    await writer.close();
  }));

test("the oldest file goes when there are more than five", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeLines(path, 30, { maxBytes: 150 });
    expect((await readdir(directory)).filter((name) => !name.endsWith(".idx")).sort()).toEqual([
      "0.log",
      "0.log.1",
      "0.log.2",
      "0.log.3",
      "0.log.4",
    ]);
    const lines = (await textOf(path)).trimEnd().split("\n");
    expect(lines.at(-1)).toBe("line 29");
    expect(lines).toEqual(Array.from({ length: lines.length }, (_, index) => `line ${30 - lines.length + index}`));
  }));

test("since leaves out what is older, across files and within one", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeLines(path, 20, { maxBytes: 400 });
    expect(await textOf(path, { since: start + 17_000 })).toBe("line 17\nline 18\nline 19\n");
    expect(await textOf(path, { since: start + 17_001 })).toBe("line 18\nline 19\n");
    expect(await textOf(path, { since: start - 1, tailLines: 1 })).toBe("line 19\n");
    expect(await textOf(path, { since: start + 3_600_000 })).toBe("");
  }));

test("since finds its place by the index of a long file", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeLines(path, 1_000);
    const entries = await readIndex(path, Number.MAX_SAFE_INTEGER);
    expect(entries.map((entry) => entry.line)).toEqual([256, 512, 768]);
    expect(entries[1]?.at).toBe(start + 512_000);
    expect(await textOf(path, { since: start + 998_000 })).toBe("line 998\nline 999\n");
    expect(await textOf(path, { since: start + 512_000, limitBytes: 9 })).toBe("line 512\n");
  }));

test("a limit cuts the output at the byte", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeLines(path, 3);
    expect(await textOf(path, { limitBytes: 10 })).toBe("line 0\nlin");
    expect(await textOf(path, { limitBytes: 0 })).toBe("");
  }));

test("a follower gets what comes later, through rotations, and ends with the writer", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "pod", "0.log");
    const ended = new AbortController();
    const whole = textOf(path, { follow: ended.signal });
    await writeLines(path, 40, { maxBytes: 1_000 });
    ended.abort();
    expect((await whole).trimEnd().split("\n")).toEqual(Array.from({ length: 40 }, (_, index) => `line ${index}`));
  }));

test("a follower that is no longer wanted ends in the middle", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeLines(path, 2);
    const stop = new AbortController();
    const output = readLogs(path, { follow: new AbortController().signal, signal: stop.signal });
    expect(Buffer.from((await output.next()).value ?? []).toString()).toBe("line 0\nline 1\n");
    const next = output.next();
    stop.abort();
    expect((await next).done).toBe(true);
  }));

test("a record cut off by a power cut and lines of another making are still shown", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeLines(path, 1);
    await appendFile(path, "strange\n2026-01-01T00:00:09.000000000Z stdout F torn en");
    expect(await textOf(path)).toBe("line 0\nstrange\ntorn en");
  }));

test("a log that cannot be written keeps its reason and lets the process go on", () =>
  withDirectory(async (directory) => {
    await writeFile(join(directory, "file"), "");
    const writer = new LogWriter(join(directory, "file", "0.log"), { clock: systemClock });
    writer.append("stdout", Buffer.from("lost\n"));
    await writer.close();
    expect(writer.failure?.message).toMatch(/ENOTDIR|EEXIST/);
    expect(writer.append("stdout", Buffer.alloc(2_000_000, "x"))).toBe(true);
  }));

test("a writer that falls behind asks for a pause and says when it is over", () =>
  withDirectory(async (directory) => {
    let drained = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      drained = resolve;
    });
    const writer = new LogWriter(join(directory, "0.log"), { clock: systemClock, onDrain: () => drained() });
    expect(writer.append("stdout", Buffer.from("small\n"))).toBe(true);
    expect(writer.append("stdout", Buffer.alloc(3_000_000, "line of text\n"))).toBe(false);
    await over;
    await writer.close();
    expect((await textOf(join(directory, "0.log"))).length).toBe(3_000_006);
  }));

test("marks of what came before are shown to who misses it only, also while he follows", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const rotation = { maxBytes: 200, maxFiles: 3, marksLoss: true };
    const writer = new LogWriter(path, { clock: new FakeClock(start), rotation });
    const follow = new AbortController();
    const output = readLogs(path, { follow: follow.signal });
    const lines: string[] = [];
    let shown = "";
    for (let line = 1; line <= 12; line++) {
      lines.push(`line ${line}\n`);
      writer.append("stdout", Buffer.from(lines.at(-1) ?? ""));
      await writer.flushed();
      while (!shown.endsWith(lines.at(-1) ?? "")) shown += Buffer.from((await output.next()).value ?? []).toString();
    }
    expect(shown).toBe(lines.join(""));
    await writer.close();
    const late = await textOf(path);
    expect(late).toMatch(/^slipway: \d+ bytes of this log come before this line.*\n(line \d+\n)+$/);
    expect(late).toMatch(/line 11\nline 12\n$/);
    follow.abort();
    await output.return();
  }));
