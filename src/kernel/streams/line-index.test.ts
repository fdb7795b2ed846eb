import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodeEntry, type IndexEntry, offsetBefore, readIndex } from "./line-index.ts";
import { indexOf } from "./log-files.ts";
import { withDirectory } from "./testing/index.ts";

const entry = (line: number, offset: number, at: number): IndexEntry => ({ line, offset, at });
const entries = [entry(256, 10_000, 100), entry(512, 20_000, 200), entry(768, 30_000, 200), entry(1024, 40_000, 400)];
const everything = Number.MAX_SAFE_INTEGER;

test("entries are read as they were written, also where a file is longer than 32 bits can tell", () =>
  withDirectory(async (directory) => {
    const file = join(directory, "0.log");
    const large = entry(2 ** 40, 2 ** 45, Date.UTC(9999, 11, 31));
    await writeFile(indexOf(file), Buffer.concat([...entries, large].map(encodeEntry)));
    expect(await readIndex(file, everything)).toEqual([...entries, large]);
  }));

test("a file without an index has no entries", () =>
  withDirectory(async (directory) => {
    expect(await readIndex(join(directory, "0.log"), everything)).toEqual([]);
  }));

test.each([1, 8, 23])("a last entry of which only %d bytes were written is left out", (length) =>
  withDirectory(async (directory) => {
    const file = join(directory, "0.log");
    await writeFile(indexOf(file), Buffer.concat(entries.map(encodeEntry)));
    await appendFile(indexOf(file), encodeEntry(entry(1280, 50_000, 500)).subarray(0, length));
    expect(await readIndex(file, everything)).toEqual(entries);
  }),
);

test("entries for output that a power cut has taken are left out", () =>
  withDirectory(async (directory) => {
    const file = join(directory, "0.log");
    await writeFile(indexOf(file), Buffer.concat(entries.map(encodeEntry)));
    expect(await readIndex(file, 20_000)).toEqual(entries.slice(0, 2));
    expect(await readIndex(file, 0)).toEqual([]);
  }));

test("an index that cannot be read is a failure, not an absent index", () =>
  withDirectory(async (directory) => {
    await writeFile(join(directory, "file"), "");
    await expect(readIndex(join(directory, "file", "0.log"), everything)).rejects.toMatchObject({ code: "ENOTDIR" });
  }));

test.each([
  [50, 0, "before the first entry"],
  [100, 0, "at the first entry, whose own line is not older"],
  [101, 10_000, "just after it"],
  [200, 10_000, "at two entries of one time"],
  [201, 30_000, "after two entries of one time"],
  [400, 30_000, "at the last"],
  [9_999, 40_000, "after everything"],
])("reading since %d begins at byte %d: %s", (at, offset) => {
  expect(offsetBefore(entries, at)).toBe(offset);
});

test("without entries reading begins at the start", () => {
  expect(offsetBefore([], 1)).toBe(0);
});
