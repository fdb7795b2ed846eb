import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PlannedTask } from "./container-task.ts";
import { temporaryDirectory } from "#kernel/runtimes/testing/index.ts";
import { materializeVolume, prepareTask } from "./materialize.ts";
import type { VolumeContent } from "./volumes.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let volume: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  volume = join(directory.path, "volumes", "v");
});
afterEach(() => directory.remove());

const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;
const file = (path: string, text: string, mode = 0o644) => ({ path, data: Buffer.from(text), mode });
const made = (content: VolumeContent, group?: number) => materializeVolume(content, volume, 0, group);
const files = (...all: readonly ReturnType<typeof file>[]) => made({ kind: "files", files: all });

test("an empty volume may be written to by whoever the containers run as", async () => {
  await made({ kind: "empty" });
  expect(await modeOf(volume)).toBe(0o777);
});

test("making an empty volume again keeps what is in it", async () => {
  await made({ kind: "empty" });
  await writeFile(join(volume, "kept"), "");
  await made({ kind: "empty" });
  expect((await stat(join(volume, "kept"))).isFile()).toBe(true);
});

test.each([0o644, 0o600, 0o755, 0o400, 0o777, 0o000])(
  "a file has its mode %o, whatever the creation mask",
  async (mode) => {
    await files(file("a/b/c", "text", mode));
    expect(await modeOf(join(volume, "a/b/c"))).toBe(mode);
  },
);

test("making files again writes the same over files that nobody may write to", async () => {
  for (const text of ["first", "second"]) await files(file("a", text, 0o400));
  expect(await readFile(join(volume, "a"), "utf8")).toBe("second");
  expect(await modeOf(join(volume, "a"))).toBe(0o400);
});

test("a file that was replaced by a link is made anew, and what the link led to is left alone", async () => {
  const elsewhere = join(directory.path, "elsewhere");
  await writeFile(elsewhere, "mine");
  await mkdir(volume, { recursive: true });
  await symlink(elsewhere, join(volume, "a"));
  await files(file("a", "new"));
  expect(await readFile(elsewhere, "utf8")).toBe("mine");
  expect(await readFile(join(volume, "a"), "utf8")).toBe("new");
});

test("bytes are written as they are, and of two files of one path the later is there", async () => {
  const data = Buffer.from([0, 255, 13, 10]);
  await made({ kind: "files", files: [file("a", "first"), { path: "a", data, mode: 0o644 }] });
  expect(await readFile(join(volume, "a"))).toEqual(data);
});

test("a file where another needs a directory is told", async () => {
  await expect(files(file("a", ""), file("a/b", ""))).rejects.toMatchObject({
    code: expect.stringMatching(/EEXIST|ENOTDIR/),
  });
});

const host = (path: string, type: string) => made({ kind: "host", path, type });

test.each([
  ["", "directory", true],
  ["", "file", true],
  ["Directory", "directory", true],
  ["Directory", "file", false],
  ["Directory", "nothing", false],
  ["DirectoryOrCreate", "directory", true],
  ["DirectoryOrCreate", "nothing", true],
  ["File", "file", true],
  ["File", "directory", false],
  ["File", "nothing", false],
  ["FileOrCreate", "file", true],
  ["FileOrCreate", "nothing", true],
  ["Socket", "file", false],
  ["CharDevice", "file", false],
  ["BlockDevice", "directory", false],
  ["Symlink", "file", false],
])("a hostPath of type %j takes a %s: %s", async (type, what, fits) => {
  const path = join(directory.path, "host");
  if (what === "directory") await mkdir(path);
  if (what === "file") await writeFile(path, "");
  const made = host(path, type);
  if (fits) await made;
  else await expect(made).rejects.toThrow(`hostPath type check failed: ${path} is not a ${type}`);
});

test("a hostPath without type makes a directory of nothing, and a device is one", async () => {
  await host(join(directory.path, "a", "b"), "");
  expect((await stat(join(directory.path, "a", "b"))).isDirectory()).toBe(true);
  await host("/dev/null", "CharDevice");
});

test("the types that create something make no directories above a file", async () => {
  await expect(host(join(directory.path, "none", "file"), "FileOrCreate")).rejects.toMatchObject({ code: "ENOENT" });
  await host(join(directory.path, "x", "y"), "DirectoryOrCreate");
});

const task = (more: Partial<PlannedTask> = {}): PlannedTask => ({
  id: "u/main/0",
  command: ["x"],
  env: {},
  workingDirectory: "/",
  logPath: "/dev/null",
  ...more,
});

const mountOf = (source: string, within: string) => ({ source, within, target: "/x", readOnly: false });

test("a task has an empty file for its message, also where an earlier try has left one", async () => {
  const output = join(directory.path, "output", "main", "0");
  await prepareTask(task(), output);
  await writeFile(output, "left over");
  await prepareTask(task(), output);
  expect(await readFile(output, "utf8")).toBe("");
});

test.skipIf(process.getuid?.() !== 0)("the file for its message is its user's", async () => {
  const output = join(directory.path, "output");
  await prepareTask(task({ user: { uid: 4_321, gid: 1_234 } }), output);
  expect(await stat(output)).toMatchObject({ uid: 4_321, gid: 1_234 });
});

test("a part of a volume that does not exist becomes a directory, a file stays one", async () => {
  const source = join(directory.path, "volume", "sub", "path");
  const existing = join(directory.path, "file");
  await writeFile(existing, "text");
  await mkdir(join(directory.path, "volume"));
  const mounts = [source, existing].map((one) => mountOf(one, directory.path));
  await prepareTask(task({ mounts }), join(directory.path, "output"));
  expect((await stat(source)).isDirectory()).toBe(true);
  expect(await readFile(existing, "utf8")).toBe("text");
});

test.skipIf(process.getuid?.() !== 0)("files for a group can be read by it, whatever their mode", async () => {
  await made({ kind: "files", files: [file("key", "secret", 0o400)] }, 4_321);
  expect(await stat(join(volume, "key"))).toMatchObject({ uid: 0, gid: 4_321 });
  expect(await modeOf(join(volume, "key"))).toBe(0o440);
});

test("a claim is its directory under the pod's own name, and outlives it", async () => {
  const path = join(directory.path, "claims", "data");
  await expect(made({ kind: "claim", path })).rejects.toThrow("ENOENT");
  await mkdir(path, { recursive: true });
  await made({ kind: "claim", path });
  await made({ kind: "claim", path });
  const { mounts } = await prepareTask(
    task({ mounts: [mountOf(join(volume, "part"), volume)] }),
    join(directory.path, "output"),
  );
  expect(mounts).toEqual([{ source: join(path, "part"), target: "/x", readOnly: false }]);
  await rm(volume, { recursive: true });
  expect((await stat(join(path, "part"))).isDirectory()).toBe(true);
});

test.each(["link", "link/inside", "dangling", "loop"])(
  "a part of a volume at %j, a link that leads out, is refused",
  async (part) => {
    const within = join(directory.path, "volume");
    const outside = join(directory.path, "outside");
    await Promise.all([mkdir(within), mkdir(outside)]);
    await symlink(outside, join(within, "link"));
    await symlink(join(outside, "none"), join(within, "dangling"));
    await symlink("loop", join(within, "loop"));
    const planned = task({ mounts: [mountOf(join(within, part), within)] });
    await expect(prepareTask(planned, join(directory.path, "output"))).rejects.toThrow(
      /leads out of its volume|ENOENT|ELOOP/,
    );
    expect(await readdir(outside)).toEqual([]);
  },
);

test("a link that stays inside its volume is followed", async () => {
  const within = join(directory.path, "volume");
  await mkdir(join(within, "versions", "2"), { recursive: true });
  await symlink("versions/2", join(within, "current"));
  const { mounts } = await prepareTask(
    task({ mounts: [mountOf(join(within, "current"), within)] }),
    join(directory.path, "output"),
  );
  expect(mounts?.map(({ source }) => source)).toEqual([join(within, "versions", "2")]);
});

test("what is in the way is told by its own name", async () => {
  const taken = join(directory.path, "taken");
  await writeFile(taken, "");
  await expect(prepareTask(task(), join(taken, "output"))).rejects.toThrow(
    `EEXIST: file already exists, mkdir '${taken}'`,
  );
});
