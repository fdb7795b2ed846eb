import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { listLogFiles, lookAt, removeLog } from "./log-files.ts";
import { withDirectory } from "./testing/index.ts";

async function withFiles(names: readonly string[], use: (path: string, directory: string) => Promise<void>) {
  await withDirectory(async (directory) => {
    for (const name of names) await writeFile(join(directory, name), name);
    await use(join(directory, "0.log"), directory);
  });
}

const namesOf = async (path: string) => (await listLogFiles(path)).map((file) => basename(file.path));

test.each([
  [[], []],
  [["0.log"], ["0.log"]],
  [
    ["0.log", "0.log.1", "0.log.2"],
    ["0.log.2", "0.log.1", "0.log"],
  ],
  [["0.log.1"], ["0.log.1"]],
  [["0.log", "0.log.2"], ["0.log"]],
  [["0.log", "0.log.idx", "1.log", "10.log"], ["0.log"]],
])("of the files %j a log has %j, oldest first", (present, expected) =>
  withFiles(present, async (path) => {
    expect(await namesOf(path)).toEqual(expected);
  }),
);

test("a file keeps its identity under another name, and another file has another one", () =>
  withFiles(["0.log"], async (path) => {
    const before = await lookAt(path);
    await rename(path, `${path}.1`);
    await writeFile(path, "new");
    expect((await lookAt(`${path}.1`))?.id).toBe(before?.id);
    expect((await lookAt(path))?.id).not.toBe(before?.id);
    expect(await lookAt(path)).toMatchObject({ size: 3 });
  }));

test("nothing is seen where there is no directory, or a file in its place", () =>
  withFiles(["file"], async (_path, directory) => {
    expect(await lookAt(join(directory, "none", "0.log"))).toBeUndefined();
    expect(await lookAt(join(directory, "file", "0.log"))).toBeUndefined();
  }));

test("removing a log takes its files and indexes and nothing else", () =>
  withFiles(
    ["0.log", "0.log.idx", "0.log.1", "0.log.1.idx", "0.log.2", "1.log", "1.log.idx", "0.logbook"],
    async (path, directory) => {
      await removeLog(path);
      expect((await readdir(directory)).sort()).toEqual(["0.logbook", "1.log", "1.log.idx"]);
      await removeLog(path);
    },
  ));

test("removing a log takes older files although the newest is missing", () =>
  withFiles(["0.log.1", "0.log.2"], async (path, directory) => {
    await removeLog(path);
    expect(await readdir(directory)).toEqual([]);
  }));

test("a log in a directory that is not there is removed already", () =>
  withDirectory((directory) => removeLog(join(directory, "none", "0.log"))));

test("what stands in the way of removing is told", () =>
  withDirectory(async (directory) => {
    await mkdir(join(directory, "0.log"));
    await expect(removeLog(join(directory, "0.log"))).rejects.toThrow("is a directory");
  }));
