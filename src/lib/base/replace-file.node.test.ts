import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTextIfPresent, replaceFile } from "./replace-file.node.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-replace-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("a file is created and replaced, private by default, and no draft is left", async () => {
  const path = join(directory, "file");
  expect(await readTextIfPresent(path)).toBeUndefined();
  await replaceFile(path, "old");
  await replaceFile(path, Buffer.from("new"), { isDurable: false });
  expect(await readTextIfPresent(path)).toBe("new");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(["file"]);
});

test("a draft that a crash has left, or a link in its place, is not written into", async () => {
  const path = join(directory, "file");
  const other = join(directory, "other");
  await writeFile(other, "other");
  await symlink(other, `${path}.next`);
  await replaceFile(path, "new");
  expect(await readFile(other, "utf8")).toBe("other");
  expect(await readFile(path, "utf8")).toBe("new");
});

test("the old file stays when the new one cannot be put in its place", async () => {
  await expect(replaceFile(join(directory, "none", "file"), "new")).rejects.toMatchObject({ code: "ENOENT" });
  await expect(replaceFile(directory, "new", { draft: join(directory, "draft") })).rejects.toThrow();
  expect(await readdir(directory)).toEqual([]);
});
