import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { lockDirectory, openStore, readEncryptionKeys } from "#kernel/apiserver/index.ts";
import { backup, check, exportAll, restore } from "./store-care.ts";
import { fillStore } from "./testing/index.ts";

let root: string;
let data: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-care-"));
  data = join(root, "data");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const namesIn = async (directory: string) =>
  (await exportAll(directory)).map(({ metadata }) => (metadata as { readonly name: string }).name);

test("objects are exported so that they can be created again in that order", async () => {
  await fillStore(data);
  expect(await namesIn(data)).toEqual(["demo", "b", "a"]);
});

test("a sound store is checked without a finding, and left alone", async () => {
  await fillStore(data);
  expect(await check(data)).toMatchObject({ objects: 3, findings: [], isCopy: false });
  expect(await readdir(data)).toEqual(["store"]);
});

test("a store that a server uses is looked at as a copy, which does not stay", async () => {
  await fillStore(data);
  const lock = await lockDirectory(data);
  // Where nobody else has temporary files.
  const temporary = join(root, "temporary");
  await mkdir(temporary);
  vi.stubEnv("TMPDIR", temporary);
  try {
    expect(await check(data)).toMatchObject({ objects: 3, findings: [], isCopy: true });
    expect(await namesIn(data)).toEqual(["demo", "b", "a"]);
    expect(await readdir(temporary)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
    await lock.release();
  }
});

test("a backup can be restored elsewhere, and into where it came from", async () => {
  await fillStore(data);
  const file = join(root, "backup.mdb");
  // What an earlier life has left is no obstacle.
  await mkdir(`${file}.unfinished`);
  expect(await backup(data, file)).toEqual({ file, bytes: expect.any(Number) });
  expect(await readdir(root)).not.toContain("backup.mdb.unfinished");
  // Every Secret is in them.
  for (const path of [file, join(data, "store/store.mdb")]) expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await restore(file, join(root, "new"))).toEqual({ replaced: undefined });
  expect(await namesIn(join(root, "new"))).toEqual(["demo", "b", "a"]);
  const { replaced } = await restore(file, data);
  expect(await readdir(join(data, "store"))).toContain(replaced?.split("/").at(-1));
  expect(await namesIn(data)).toEqual(["demo", "b", "a"]);
});

test("a backup that others can read becomes a store that they cannot, and none in a directory that they can use", async () => {
  await fillStore(data);
  const file = join(root, "backup.mdb");
  await backup(data, file);
  await chmod(file, 0o666);
  await restore(file, join(root, "new"));
  expect((await stat(join(root, "new/store/store.mdb"))).mode & 0o777).toBe(0o600);
  const open = join(root, "open");
  await mkdir(open);
  await chmod(open, 0o777);
  await expect(restore(file, open)).rejects.toMatchObject({ code: "insecure-permissions" });
  expect(await readdir(open)).toEqual([]);
  // By a link to a directory of another user, too: it is that directory that counts.
  await symlink(open, join(root, "link"));
  await expect(restore(file, join(root, "link"))).rejects.toMatchObject({ code: "insecure-permissions" });
});

test("nothing is restored under a server's feet, nor from what is no backup", async () => {
  await fillStore(data);
  const file = join(root, "backup.mdb");
  await backup(data, file);
  const lock = await lockDirectory(data);
  await expect(restore(file, data)).rejects.toMatchObject({ code: "store-locked" });
  await lock.release();
  await writeFile(join(root, "letter.txt"), "dear store");
  await expect(restore(join(root, "letter.txt"), data)).rejects.toMatchObject({ code: "store-corrupt" });
  await expect(restore(join(root, "nowhere"), data)).rejects.toMatchObject({ code: "no-backup" });
  expect(await namesIn(data)).toEqual(["demo", "b", "a"]);
});

test.each([
  ["a directory that is not there", () => Promise.resolve()],
  ["an empty directory", () => mkdir(data)],
  ["a file in its place", () => writeFile(data, "")],
])("%s has no store, and gets none by being looked at", async (_what, prepare) => {
  await prepare();
  for (const look of [() => check(data), () => exportAll(data), () => backup(data, join(root, "b"))])
    await expect(look()).rejects.toMatchObject({ code: "no-store", hint: expect.stringContaining("--data-dir") });
  expect((await readdir(root)).filter((name) => name !== "data")).toEqual([]);
});

test("a store whose file is damaged is told apart from one that is missing", async () => {
  await mkdir(join(data, "store"), { recursive: true });
  await writeFile(join(data, "store/store.mdb"), Buffer.alloc(65_536, 7));
  await expect(check(data)).rejects.toMatchObject({ code: "store-corrupt" });
});

test("an encrypted store is looked after with its key, and without it that is what is said", async () => {
  const parent = await mkdtemp(join(tmpdir(), "slipway-care-"));
  try {
    const [directory, keyFile, file] = [join(parent, "data"), join(parent, "key"), join(parent, "backup")];
    await writeFile(keyFile, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
    await mkdir(directory, { mode: 0o700 });
    const store = await openStore(join(directory, "store"), {
      encryptionKeys: await readEncryptionKeys(keyFile, directory),
    });
    await store.write((transaction) => {
      const metadata = { name: "s", namespace: "default", uid: "u" };
      const key = { group: "", resource: "secrets", namespace: "default", name: "s" };
      transaction.put(key, { apiVersion: "v1", kind: "Secret", metadata, data: { k: "c2VjcmV0" } });
    });
    await store.close();
    expect((await check(directory, keyFile)).findings).toEqual([]);
    expect(await exportAll(directory, keyFile)).toMatchObject([{ kind: "Secret", data: { k: "c2VjcmV0" } }]);
    await backup(directory, file);
    await restore(file, directory, keyFile);
    for (const run of [() => check(directory), () => exportAll(directory), () => restore(file, directory)])
      await expect(run()).rejects.toMatchObject({ message: expect.stringMatching(/encrypted, and no key was given/) });
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
});
