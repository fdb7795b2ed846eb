import { chmod, mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../testing/index.ts";
import { ensureRunnerDirectories, runnerPaths } from "./paths.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => directory.remove());

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test("everything of a runner is in its directory", () => {
  expect(runnerPaths("/data/runner")).toEqual({
    directory: "/data/runner",
    journal: "/data/runner/journal",
    lock: "/data/runner/runner.lock",
    log: "/data/runner/runner.log",
    socket: "/data/runner/runner.sock",
  });
});

test.each([
  ["d".repeat(80), true],
  ["d".repeat(87), true],
  ["d".repeat(88), false],
  // It is bytes that the kernel counts.
  ["é".repeat(44), false],
])("the socket of /%s is in the directory: %s", (name, isNear) => {
  const { socket } = runnerPaths(`/${name}`);
  expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(100);
  expect(dirname(socket)).toEqual(isNear ? `/${name}` : expect.stringContaining(join(tmpdir(), "slipway-")));
});

test("directories with long names have sockets of their own, always the same", () => {
  const long = (name: string) => runnerPaths(`/${"d".repeat(100)}/${name}`).socket;
  expect(long("a")).toBe(long("a"));
  expect(long("a")).not.toBe(long("b"));
});

test("missing directories are made for this user only", async () => {
  const paths = runnerPaths(join(directory.path, "data", "runner"));
  await ensureRunnerDirectories(paths);
  expect(await modeOf(paths.directory)).toBe(0o700);
});

test("a directory that others may enter is closed to them", async () => {
  await chmod(directory.path, 0o755);
  await ensureRunnerDirectories(runnerPaths(directory.path));
  expect(await modeOf(directory.path)).toBe(0o700);
});

test("the directory of a far socket is made as well, and is closed, too", async () => {
  const paths = runnerPaths(join(directory.path, "d".repeat(100)));
  await ensureRunnerDirectories(paths);
  expect(await modeOf(dirname(paths.socket))).toBe(0o700);
});

test("a link that somebody may have laid is not followed", async () => {
  await mkdir(join(directory.path, "elsewhere"));
  const trap = join(directory.path, "trap");
  await symlink(join(directory.path, "elsewhere"), trap);
  await expect(ensureRunnerDirectories(runnerPaths(trap))).rejects.toMatchObject({
    code: "runner-directory",
    message: `${trap} belongs to another user or is not a directory`,
  });
});

test("a file in the place of the directory is told", async () => {
  await writeFile(join(directory.path, "file"), "");
  await expect(ensureRunnerDirectories(runnerPaths(join(directory.path, "file")))).rejects.toMatchObject({
    code: "EEXIST",
  });
});
