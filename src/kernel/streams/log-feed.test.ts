import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { removeLog, type Rotation } from "./log-files.ts";
import { type FeedPlace, feedStart, readFeed } from "./log-feed.ts";
import { LogWriter } from "./log-writer.ts";
import { withDirectory } from "./testing/index.ts";

const start = Date.UTC(2026, 0, 1);

function world(directory: string, rotation?: Rotation) {
  const path = join(directory, "a.log");
  const clock = new FakeClock(start);
  const open = () => new LogWriter(path, { clock, ...(rotation === undefined ? {} : { rotation }) });
  let place: FeedPlace = feedStart;
  /** Everything new, as `stream@ms text`. */
  const feed = async (writing = "", maxBytes = 1_000_000): Promise<readonly string[]> => {
    const chunks = await readFeed(path, place, writing, maxBytes);
    place = chunks.at(-1)?.place ?? place;
    return chunks.map(({ stream, at, data }) => `${stream}@${at - start} ${data.toString()}`);
  };
  return { path, clock, open, feed };
}

test("lines of one stream and one time are one chunk, and each comes once", () =>
  withDirectory(async (directory) => {
    const { open, feed, clock } = world(directory);
    expect(await feed()).toEqual([]);
    const log = open();
    log.append("stdout", Buffer.from("one\ntwo\n"));
    log.append("stderr", Buffer.from("bad\n"));
    await clock.advance(5);
    log.append("stderr", Buffer.from("worse\n"));
    await log.flushed();
    expect(await feed()).toEqual(["stdout@0 one\ntwo\n", "stderr@0 bad\n", "stderr@5 worse\n"]);
    expect(await feed()).toEqual([]);
    log.append("stdout", Buffer.from("half"));
    await clock.advance(250);
    await log.flushed();
    expect(await feed()).toEqual(["stdout@255 half"]);
    log.append("stdout", Buffer.from(" done\n"));
    await log.close();
    expect(await feed()).toEqual(["stdout@255  done\n"]);
  }));

test("no more is read at once than was asked for, and chunks are of 64 KiB", () =>
  withDirectory(async (directory) => {
    const { open, feed } = world(directory);
    const log = open();
    const line = `${"x".repeat(999)}\n`;
    log.append("stdout", Buffer.from(line.repeat(500)));
    await log.close();
    const sizes: number[] = [];
    for (let chunks = await feed("", 300_000); chunks.length > 0; chunks = await feed("", 300_000)) {
      for (const chunk of chunks) sizes.push(chunk.length - "stdout@0 ".length);
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(500_000);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536);
  }));

test("rotations in between are passed without their marks", () =>
  withDirectory(async (directory) => {
    const { open, feed } = world(directory, { maxBytes: 200, maxFiles: 10, marksLoss: true });
    const log = open();
    for (let line = 1; line <= 8; line++) {
      log.append("stdout", Buffer.from(`line ${line}\n`));
      await log.flushed();
    }
    const read = [...(await feed()), ...(await feed())].join("").replaceAll("stdout@0 ", "");
    expect(read).toBe("line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\n");
    log.append("stdout", Buffer.from("line 9\n"));
    await log.close();
    expect(await feed()).toEqual(["stdout@0 line 9\n"]);
  }));

test("where the ring was faster, what is left begins with how much came before", () =>
  withDirectory(async (directory) => {
    const { open, feed } = world(directory, { maxBytes: 200, maxFiles: 2, marksLoss: true });
    const log = open();
    log.append("stdout", Buffer.from("line 0\n"));
    await log.flushed();
    expect(await feed()).toEqual(["stdout@0 line 0\n"]);
    for (let line = 1; line <= 9; line++) {
      log.append("stdout", Buffer.from(`line ${line}\n`));
      await log.flushed();
    }
    const [first = "", ...rest] = (await feed()).join("").replaceAll("stdout@0 ", "").trimEnd().split("\n");
    expect(first).toMatch(/^slipway: \d+ bytes of this log come before this line/);
    expect(rest).toEqual(["line 8", "line 9"]);
    await log.close();
    expect(await feed()).toEqual([]);
  }));

test("a log that was written anew, in other pieces, at other times and without the agent's own lines, is gone on with", () =>
  withDirectory(async (directory) => {
    const { open, feed, clock, path } = world(directory);
    const log = open();
    log.append("stdout", Buffer.from("slipway: the image that is here is used\n"));
    log.append("stdout", Buffer.from("one\ntw"));
    log.append("stderr", Buffer.from("bad\n"));
    await clock.advance(300);
    await log.close();
    expect((await feed()).join("")).toContain("tw");
    await removeLog(path);
    const anew = open();
    expect(await feed("2")).toEqual([]);
    anew.append("stderr", Buffer.from("bad\nworse\n"));
    anew.append("stdout", Buffer.from("one\n"));
    await anew.flushed();
    expect(await feed("2")).toEqual(["stderr@300 worse\n"]);
    anew.append("stdout", Buffer.from("two\nthree\n"));
    await anew.close();
    expect(await feed("2")).toEqual(["stdout@300 o\nthree\n"]);
    expect(await feed("2")).toEqual([]);
  }));
