import { copyFile, readdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endRunner, removeDirectory, slipway, startServer, temporaryDirectory } from "#test/support/slipway.ts";

// The store of a real server whose file is gone, or is not what it was.

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(async () => {
  await endRunner(data());
  await removeDirectory(directory);
});

const data = (): string => join(directory, "data");
const file = (name: string): string => join(data(), "store", name);
const start = () => slipway(["up", "--data-dir", data(), "--port", "0"]);

test("a server does not begin anew where it has kept something, whether it was killed or stopped", async () => {
  const server = await startServer(data());
  await server.kill();
  await copyFile(file("store.mdb"), join(directory, "kept"));
  const redo = await readFile(file("store.redo-0"));
  await truncate(file("store.mdb"), 0);
  const killed = await start();
  expect([killed.code, killed.err]).toEqual([
    4,
    expect.stringContaining("store.mdb is empty, but this data directory"),
  ]);
  expect(killed.err).toContain("slipway store restore");
  expect((await readFile(file("store.redo-0"))).equals(redo)).toBe(true);
  await copyFile(join(directory, "kept"), file("store.mdb"));

  const again = await startServer(data());
  await again.stop();
  expect((await readdir(join(data(), "store"))).filter((name) => name.includes("redo"))).toEqual([]);
  await rename(file("store.mdb"), join(directory, "kept"));
  const stopped = await start();
  expect([stopped.code, stopped.err]).toEqual([4, expect.stringContaining("store.mdb is missing, but")]);
  await rename(join(directory, "kept"), file("store.mdb"));
});

test("a byte of an object that was changed is named by the check and by the start", async () => {
  const bytes = await readFile(file("store.mdb"));
  const wanted = '"metadata":{"resourceVersion":"1",';
  const name = /"name":"([^"]+)"/.exec(bytes.toString("latin1", bytes.indexOf(wanted)))?.[1] ?? "";
  const named = expect.stringMatching(new RegExp(`"${name}".* is damaged`));
  let found = 0;
  // In its row and in its record; a page that is free now may hold it, too.
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) {
    const damaged = Buffer.from(bytes);
    damaged.write("2", at + wanted.length - 3);
    await writeFile(file("store.mdb"), damaged);
    const check = await slipway(["store", "check", "--data-dir", data()]);
    if (check.code === 0) continue;
    found++;
    expect([check.code, check.out]).toEqual([4, named]);
    const up = await start();
    expect([up.code, up.err]).toEqual([4, named]);
  }
  expect(found).toBe(2);
});
