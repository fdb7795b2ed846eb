import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FailureFiles, makeFailureFiles, readFailureFiles } from "./failure-files.ts";

let directory: string;
let files: FailureFiles;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-failure-"));
  files = await makeFailureFiles(join(directory, "execution"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("they are made empty and for everybody to write, and read as they were written", async () => {
  expect((await stat(files.reason)).mode & 0o777).toBe(0o666);
  expect(await readFailureFiles(files)).toEqual({ reason: "", message: "" });
  await writeFile(files.reason, "DiskMissing\n");
  await writeFile(files.message, "no /dev/sda\n");
  expect(await readFailureFiles(files)).toEqual({ reason: "DiskMissing\n", message: "no /dev/sda\n" });
});

test("no more is read than can be shown", async () => {
  await writeFile(files.message, "x".repeat(10_000_000));
  expect((await readFailureFiles(files)).message.length).toBeLessThan(5000);
});

test.each<readonly [string, (path: string) => Promise<unknown>]>([
  ["nothing", async () => undefined],
  ["a link to somebody else's file", (path) => symlink("/etc/passwd", path)],
  ["a directory", (path) => mkdir(path)],
  ["a pipe", async (path) => execFileSync("sh", ["-c", `mkfifo ${path}`])],
])("%s in the place of a file counts as empty", async (_what, put) => {
  await rm(files.message);
  await put(files.message);
  expect((await readFailureFiles(files)).message).toBe("");
});
