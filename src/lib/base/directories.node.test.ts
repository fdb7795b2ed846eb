import { chmod, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeDirectories } from "./directories.node.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-directories-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const isDirectory = async (path: string) => (await stat(path)).isDirectory();

test("all that is missing is made, with the mode that is asked for", async () => {
  await makeDirectories(join(directory, "a", "b", "c"), 0o700);
  for (const path of ["a", "a/b", "a/b/c"]) expect((await stat(join(directory, path))).mode & 0o777).toBe(0o700);
});

test("what is there stays as it is", async () => {
  await makeDirectories(join(directory, "a"));
  // Whatever the umask takes of what is made anew.
  await chmod(join(directory, "a"), 0o755);
  await makeDirectories(join(directory, "a"), 0o700);
  expect((await stat(join(directory, "a"))).mode & 0o777).toBe(0o755);
  await makeDirectories("/");
});

test("many at once make the same path", async () => {
  const path = join(directory, "a", "b", "c", "d");
  await Promise.all(Array.from({ length: 20 }, () => makeDirectories(path)));
  expect(await isDirectory(path)).toBe(true);
});

test("a link to a directory is one", async () => {
  await symlink(tmpdir(), join(directory, "link"));
  await makeDirectories(join(directory, "link"));
  await symlink(join(directory, "nowhere"), join(directory, "dangling"));
  await expect(makeDirectories(join(directory, "dangling"))).rejects.toMatchObject({ code: "EEXIST" });
});

test("a file in the way is told", async () => {
  await writeFile(join(directory, "file"), "");
  await expect(makeDirectories(join(directory, "file"))).rejects.toMatchObject({ code: "EEXIST" });
  await expect(makeDirectories(join(directory, "file", "below"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.skipIf(process.platform !== "linux")("a path that the kernel refuses to make is told at once", async () => {
  await expect(makeDirectories("/proc/slipway/none")).rejects.toMatchObject({ code: "ENOENT" });
});
