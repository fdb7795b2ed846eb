import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock, systemClock } from "#lib/base/index.ts";
import { LogWriter } from "./log-writer.ts";
import { readLogs } from "./read-logs.ts";
import { textOf, withDirectory } from "./testing/index.ts";

const start = Date.UTC(2026, 0, 1);
const text = (bytes: Uint8Array | undefined | void) => Buffer.from(bytes ?? []).toString();

async function write(path: string, lines: readonly string[], maxBytes = 10_000_000): Promise<void> {
  const writer = new LogWriter(path, { clock: systemClock, rotation: { maxBytes, maxFiles: 5 } });
  for (const line of lines) {
    writer.append("stdout", Buffer.from(`${line}\n`));
    await writer.flushed();
  }
  await writer.close();
}

test("nothing is opened before the first piece is asked for", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const output = readLogs(path);
    await write(path, ["later"]);
    expect(text((await output.next()).value)).toBe("later\n");
    await output.return(undefined);
  }));

test("a reader that stops in the middle leaves the file to others", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await write(path, ["one", "two"]);
    for await (const piece of readLogs(path)) {
      expect(text(piece)).toBe("one\ntwo\n");
      break;
    }
    await rm(path);
    expect(await textOf(path)).toBe("");
  }));

test("many readers beside the writer each get the whole", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const ended = new AbortController();
    const readers = Array.from({ length: 8 }, () => textOf(path, { follow: ended.signal }));
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}`);
    await write(path, lines);
    ended.abort();
    const expected = `${lines.join("\n")}\n`;
    expect(await Promise.all(readers)).toEqual(readers.map(() => expected));
  }));

test("a follower of a log that has ended reads it and ends", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await write(path, ["all"]);
    expect(await textOf(path, { follow: AbortSignal.abort() })).toBe("all\n");
  }));

test("a follower of a log that never comes ends with its writer", () =>
  withDirectory(async (directory) => {
    const ended = new AbortController();
    const whole = textOf(join(directory, "pod", "main", "0.log"), { follow: ended.signal });
    ended.abort();
    expect(await whole).toBe("");
  }));

test("a tail of nothing with follow shows only what comes", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const writer = new LogWriter(path, { clock: systemClock });
    writer.append("stdout", Buffer.from("before\n"));
    await writer.flushed();
    const ended = new AbortController();
    const output = readLogs(path, { follow: ended.signal, tailLines: 0 });
    const shown: string[] = [];
    const seen = output.next().then(({ value }) => shown.push(text(value)));
    // Nobody can tell when the reader has found its place, so lines come until it shows one.
    while (shown.length === 0) {
      writer.append("stdout", Buffer.from("after\n"));
      await writer.flushed();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await seen;
    expect(shown[0]).toMatch(/^(after\n)+$/);
    ended.abort();
    await output.return(undefined);
    await writer.close();
  }));

test("a follower that was left behind by the rotation goes on with the oldest file there is", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await write(path, ["first"]);
    const ended = new AbortController();
    const output = readLogs(path, { follow: ended.signal });
    expect(text((await output.next()).value)).toBe("first\n");
    await rm(path);
    await write(`${path}.1`, ["oldest left"]);
    await write(path, ["newest"]);
    ended.abort();
    const rest: string[] = [];
    for await (const piece of output) rest.push(text(piece));
    expect(rest.join("")).toBe("oldest left\nnewest\n");
  }));

test("a signal that was given before the start shows nothing", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await write(path, ["unseen"]);
    expect(await textOf(path, { signal: AbortSignal.abort() })).toBe("");
    expect(await textOf(path, { signal: AbortSignal.abort(), follow: new AbortController().signal })).toBe("");
  }));

test("a limit ends a follower, too", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await write(path, ["0123456789"]);
    expect(await textOf(path, { follow: new AbortController().signal, limitBytes: 4 })).toBe("0123");
  }));

test("a limit counts the times", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const writer = new LogWriter(path, { clock: new FakeClock(start) });
    writer.append("stdout", Buffer.from("words\n"));
    await writer.close();
    expect(await textOf(path, { timestamps: true, limitBytes: 33 })).toBe("2026-01-01T00:00:00.000000000Z wo");
  }));

test("the larger of two wishes for less wins", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    const clock = new FakeClock(start);
    const writer = new LogWriter(path, { clock });
    for (let line = 0; line < 10; line++) {
      writer.append("stdout", Buffer.from(`${line}\n`));
      await writer.flushed();
      await clock.advance(1_000);
    }
    await writer.close();
    expect(await textOf(path, { since: start + 8_000, tailLines: 5 })).toBe("8\n9\n");
    expect(await textOf(path, { since: start + 2_000, tailLines: 3 })).toBe("7\n8\n9\n");
    expect(await textOf(path, { since: start + 2_000, tailLines: 99 })).toBe("2\n3\n4\n5\n6\n7\n8\n9\n");
    expect(await textOf(path, { since: start + 99_000, tailLines: 3 })).toBe("");
  }));

test("something in the place of a log that is no file is a failure", () =>
  withDirectory(async (directory) => {
    await mkdir(join(directory, "0.log"));
    await expect(textOf(join(directory, "0.log"))).rejects.toMatchObject({ code: "EISDIR" });
  }));

test("a file that is no log is shown as it is", () =>
  withDirectory(async (directory) => {
    const path = join(directory, "0.log");
    await writeFile(path, "plain text\nwithout end");
    // The last line has no newline, and what could be a prefix of a record is not shown without its end.
    expect(await textOf(path)).toBe("plain text\n");
    expect(await textOf(path, { tailLines: 2 })).toBe("plain text\n");
  }));
