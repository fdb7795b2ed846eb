import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { identityOf } from "#lib/base/index.node.ts";
import { writeFailedResults } from "../failed-results.ts";
import { readParameters } from "../parameters.ts";
import { HostBackend } from "./host-backend.ts";
import { claimWorker, directoryName, noOwner, ownerFile, resultsDirectory } from "./worker-directory.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-workers-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

test("a directory whose owner cannot be read stays: its worker may live", async () => {
  const told: string[] = [];
  const note = (message: string): void => void told.push(message);
  const backend = new HostBackend({
    directory,
    program: { words: ["none"], environment: {} },
    runtime: "host",
    serve: () => Promise.reject(new Error("there is nothing to serve")),
    tokenOf: () => "t",
    changed: () => undefined,
    clock: systemClock,
    log: { ...silentLog, info: note, warn: note },
  });
  for (const name of ["broken", "nobodys"]) await mkdir(join(directory, name));
  await writeFile(ownerFile(join(directory, "broken")), "{ half");
  await backend.sweep(() => []);
  expect(await readdir(directory)).toEqual(["broken"]);
  expect(told.toSorted()).toEqual(["leftover of a worker cannot be removed", "removing a leftover worker"]);
  await backend.close();
});

test.skipIf(process.platform !== "linux")(
  "workers are removed from a disk that is full, which makes room",
  async () => {
    const backend = new HostBackend({
      directory,
      program: { words: ["none"], environment: {} },
      runtime: "host",
      serve: () => Promise.reject(new Error("there is nothing to serve")),
      tokenOf: () => "t",
      changed: () => undefined,
      clock: systemClock,
      log: silentLog,
    });
    const workers = ["a", "b"].map((name) => ({ namespace: "default", name, uid: `019ab000-0000-7000-8000-${name}` }));
    const places = [...workers.map(directoryName), "c", "d"].map((name) => join(directory, name));
    for (const [index, place] of places.entries()) {
      await mkdir(place);
      // One of each two has been a worker, and one was never started.
      if (index % 2 === 0) await claimWorker(place, noOwner);
      await symlink("/dev/full", `${ownerFile(place)}.${process.pid}`);
    }
    for (const worker of workers) await backend.remove(worker);
    expect((await readdir(directory)).toSorted()).toEqual(["c", "d"]);
    await backend.sweep(() => []);
    expect(await readdir(directory)).toEqual([]);
    await backend.close();
  },
);

test("workers of one name from the same minute have directories of their own", async () => {
  let ended = 0;
  const backend = new HostBackend({
    directory,
    // Ends without having become anything.
    program: { words: [process.execPath, "-e", "0"], environment: {} },
    runtime: "host",
    serve: () => Promise.reject(new Error("there is nothing to serve")),
    tokenOf: () => "t",
    changed: () => void ended++,
    clock: systemClock,
    log: silentLog,
  });
  const read = readParameters(
    { GIT_FULLURL: "https://example.org/a.git" },
    { instance: "local", allowLocalRepos: false },
  );
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  const uids = ["019ab000-0000-7000-8000-00000000000a", "019ab000-0001-7000-8000-00000000000b"];
  for (const uid of uids) await backend.start({ namespace: "default", name: "w", uid }, read.value);
  expect((await readdir(directory)).toSorted()).toEqual(["w.00000000000a", "w.00000000000b"]);
  await expect.poll(() => ended).toBeGreaterThanOrEqual(2);
  await backend.close();
});

test("a worker that could not begin is over when its program is gone: until then nobody serves what it has left", async () => {
  const backend = new HostBackend({
    directory,
    program: { words: ["none"], environment: {} },
    runtime: "host",
    serve: () => Promise.reject(new Error("the program still lives")),
    tokenOf: () => "t",
    changed: () => undefined,
    clock: systemClock,
    log: silentLog,
  });
  const worker = { namespace: "default", name: "w", uid: "019ab000-0000-7000-8000-00000000000a" };
  const place = join(directory, directoryName(worker));
  await mkdir(place);
  // This process stands for the program: it has written its results and has not ended.
  await claimWorker(place);
  const of = { buildRef: 7, projectId: 1, instance: "local", runtime: "host" };
  const failure = { reason: "CloneFailed", message: "there is no such repository", lines: [] };
  await writeFailedResults(resultsDirectory(place), of, failure, systemClock);
  expect(await backend.observe(worker)).toMatchObject({ phase: "running", status: "Running", finishedAt: undefined });
  await backend.close();
});

test("a worker that is removed while its program becomes it ends with its directory", async () => {
  const backend = new HostBackend({
    directory,
    program: { words: ["none"], environment: {} },
    runtime: "host",
    serve: () => Promise.reject(new Error("there is nothing to serve")),
    tokenOf: () => "t",
    changed: () => undefined,
    clock: systemClock,
    log: silentLog,
  });
  const worker = { namespace: "default", name: "w", uid: "019ab000-0000-7000-8000-00000000000a" };
  const place = join(directory, directoryName(worker));
  await mkdir(place);
  expect(await backend.observe(worker)).toMatchObject({ phase: "absent", isAlive: false });
  // Only now, after whoever removes it has looked.
  const program = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { detached: true });
  const ended = once(program, "exit");
  const { pid, startTicks = "", boot = "" } = identityOf(program.pid ?? 0);
  expect(await claimWorker(place, { host: hostname(), pid, startTime: startTicks, boot })).toBe(true);
  await backend.remove(worker);
  expect(await ended).toEqual([null, "SIGKILL"]);
  expect(await readdir(directory)).toEqual([]);
  await backend.close();
});
