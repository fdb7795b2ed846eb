import { lstat, mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "#kernel/runtimes/testing/index.ts";
import { holdPart, showFiles } from "./volume-files.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let volume: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  volume = join(directory.path, "v");
  await mkdir(volume);
});
afterEach(() => directory.remove());

const now = Date.UTC(2026, 10, 22, 9, 8, 7);
const file = (path: string, text: string, mode = 0o644) => ({ path, data: Buffer.from(text), mode });
const show = (...files: readonly ReturnType<typeof file>[]) => showFiles(files, volume, now);
const read = (path: string) => readFile(join(volume, path), "utf8");
const names = async () => (await readdir(volume)).sort();
const version = () => readlink(join(volume, "..data"));

test("names lead through ..data into the present version, which is named by its time", async () => {
  await show(file("a", "1"), file("b/c", "2"));
  expect(await version()).toMatch(/^\.\.2026_11_22_09_08_07\.\w{6}$/);
  expect(await readlink(join(volume, "a"))).toBe("..data/a");
  expect(await readlink(join(volume, "b"))).toBe("..data/b");
  expect([await read("a"), await read("b/c")]).toEqual(["1", "2"]);
  expect((await stat(join(volume, "..data", "."))).mode & 0o777).toBe(0o755);
});

test("another version takes the place of the one before as a whole, and keys that are gone are gone", async () => {
  await show(file("a", "1"), file("gone", "x"), file("d/gone", "x"));
  const before = await version();
  await show(file("a", "2"), file("new", "3"));
  const after = await version();
  expect(after).not.toBe(before);
  expect(await names()).toEqual([after, "..data", "a", "new"].sort());
  expect([await read("a"), await read("new")]).toEqual(["2", "3"]);
});

test.each<readonly [string, boolean, () => readonly ReturnType<typeof file>[]]>([
  ["the same files", true, () => [file("a", "1"), file("b/c", "2", 0o600)]],
  ["another text of the same length", false, () => [file("a", "2"), file("b/c", "2", 0o600)]],
  ["another mode", false, () => [file("a", "1"), file("b/c", "2", 0o640)]],
  ["a file more", false, () => [file("a", "1"), file("b/c", "2", 0o600), file("b/d", "")]],
  ["a file less", false, () => [file("a", "1")]],
])("%s: the version stays: %s", async (_what, isKept, files) => {
  await show(file("a", "1"), file("b/c", "2", 0o600));
  const before = await version();
  await show(...files());
  expect((await version()) === before).toBe(isKept);
});

test("what a crash has left in the middle is made whole", async () => {
  await show(file("a", "1"));
  await mkdir(join(volume, "..2026_01_01_00_00_00.half"));
  await symlink("..2026_01_01_00_00_00.half", join(volume, "..data_tmp"));
  await rm(join(volume, "a"));
  await show(file("a", "1"));
  expect(await names()).toEqual([await version(), "..data", "a"].sort());
  expect(await read("a")).toBe("1");
});

test("files of the time before versions give way to links, a directory where something is mounted stays", async () => {
  await mkdir(join(volume, "d"));
  await writeFile(join(volume, "d", "a"), "old");
  await writeFile(join(volume, "gone"), "old");
  await mkdir(join(volume, "mounted"));
  await show(file("d/a", "new"));
  expect(await read("d/a")).toBe("new");
  expect(await names()).toEqual([await version(), "..data", "d", "mounted"].sort());
});

test("a version that cannot be written leaves the one before, and nothing else", async () => {
  await show(file("a", "1"));
  const before = await names();
  await expect(show(file("a", "2"), file("a/b", ""))).rejects.toThrow(/EEXIST|ENOTDIR/);
  expect(await names()).toEqual(before);
  expect(await read("a")).toBe("1");
});

test("a directory that is gone does not come back", async () => {
  await rm(volume, { recursive: true });
  await expect(show(file("a", "1"))).rejects.toThrow("ENOENT");
  await expect(stat(volume)).rejects.toThrow("ENOENT");
});

const hold = (path: string, part = "0") => holdPart(join(volume, path), volume, join(directory.path, "parts", part));

test("a part keeps the version it began with, a file as well as a directory", async () => {
  await show(file("a", "1", 0o400), file("b/c/d", "2"));
  const [one, many] = [await hold("a"), await hold("b", "1")];
  await show(file("a", "new"), file("b/c/d", "new"));
  for (const again of [false, true]) {
    if (again) expect([await hold("a"), await hold("b", "1")]).toEqual([one, many]);
    expect([await readFile(one, "utf8"), await readFile(join(many, "c/d"), "utf8")]).toEqual(["1", "2"]);
  }
  expect((await lstat(one)).mode & 0o777).toBe(0o400);
  expect(await readFile(await hold("a", "later"), "utf8")).toBe("new");
});

test("a part that the volume has not is an empty directory", async () => {
  await show(file("a", "1"));
  expect(await readdir(await hold("none"))).toEqual([]);
  expect(await readdir(await hold("a/none", "1"))).toEqual([]);
  expect(await names()).not.toContain("none");
});

test("a part that leads out of its volume is refused", async () => {
  await symlink(directory.path, join(volume, "out"));
  await expect(hold("out")).rejects.toThrow("leads out of its volume");
});
