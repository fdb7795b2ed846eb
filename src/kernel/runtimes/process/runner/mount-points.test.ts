import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { MountPoints } from "./mount-points.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let points: MountPoints;
const at = (name: string) => join(directory.path, name);
const mount = (source: string, target: string) => ({ source: at(source), target: at(target), readOnly: true });
const isThere = (name: string) =>
  stat(at(name)).then(
    () => true,
    () => false,
  );

beforeEach(async () => {
  directory = await temporaryDirectory();
  points = new MountPoints();
  await mkdir(at("directory"));
  await writeFile(at("file"), "text");
});
afterEach(() => directory.remove());

test("what is missing is made as what is mounted on it, and is gone afterwards", async () => {
  const mounts = [mount("directory", "a/b/c"), mount("file", "d/e/f"), mount("file", "file")];
  await points.acquire(mounts);
  expect((await stat(at("a/b/c"))).isDirectory()).toBe(true);
  expect(await readFile(at("d/e/f"), "utf8")).toBe("");
  await points.release(mounts);
  expect([await isThere("a"), await isThere("d")]).toEqual([false, false]);
  expect(await readFile(at("file"), "utf8")).toBe("text");
});

test("it goes with the last task that uses it, or something inside of it", async () => {
  const [one, two, inside] = [mount("directory", "a/b"), mount("directory", "a/b"), mount("file", "a/x/y")];
  await Promise.all([points.acquire([one]), points.acquire([two]), points.acquire([inside])]);
  await points.release([one]);
  expect(await isThere("a/b")).toBe(true);
  await points.release([two]);
  expect([await isThere("a/b"), await isThere("a/x/y")]).toEqual([false, true]);
  await points.release([inside]);
  expect(await isThere("a")).toBe(false);
});

test("it goes with the last process that uses it, those not counted that were killed", async () => {
  const [one, two] = [[mount("directory", "a/b")], [mount("directory", "a/b")]];
  const others = new MountPoints();
  await points.acquire(one);
  await others.acquire(two);
  await points.release(one);
  expect(await isThere("a/b")).toBe(true);
  const present = new Set(await readdir(at("a/b")));
  // As of a process of an earlier boot.
  for (const name of ["a", "a/b"]) await writeFile(at(`${name}/.slipway-mounted.1.2.earlier.1`), "");
  await points.acquire(one);
  await others.release(two);
  expect(await isThere("a/b")).toBe(true);
  await points.release(one);
  expect([present.size, await isThere("a")]).toEqual([1, false]);
});

test("what was there before, or is used by others than tasks, stays", async () => {
  const mounts = [mount("directory", "directory/new"), mount("directory", "a/b"), mount("file", "f")];
  await points.acquire(mounts);
  await writeFile(at("a/other"), "somebody's");
  await writeFile(at("f"), "somebody's");
  await points.release(mounts);
  expect(await isThere("directory/new")).toBe(false);
  expect([await isThere("directory"), await isThere("a/other"), await isThere("f")]).toEqual([true, true, true]);
});

test("what cannot be made is told in the words of the system, and leaves nothing", async () => {
  await expect(points.acquire([mount("directory", "a"), mount("none", "x")])).rejects.toMatchObject({ code: "ENOENT" });
  await expect(points.acquire([mount("directory", "file/x")])).rejects.toMatchObject({ code: "ENOTDIR" });
  expect(await isThere("a")).toBe(false);
});
