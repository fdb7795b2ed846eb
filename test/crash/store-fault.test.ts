import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkStore } from "../../src/kernel/apiserver/store/maintenance.ts";
import { openStore } from "../../src/kernel/apiserver/store/open.ts";
import { bundleProgram } from "../support/bundle-program.ts";
import { buildFaults, canFault } from "./faults.ts";

// The store trusts the database library to reject a commit whose write or flush failed, and to show none of it afterwards.
// Here the system calls themselves fail, so that an upgrade of the library cannot break that trust unnoticed.

const execute = promisify(execFile);
let directory: string;
let program: string;
let library: string | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-fault-"));
  library = await buildFaults(directory);
  program = await bundleProgram(join(import.meta.dirname, "store-fault-program.ts"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function runWith(fault: "flush" | "write", data: string): Promise<unknown> {
  const file = join(directory, `fault-${fault}`);
  await writeFile(file, "");
  const env = { ...process.env, LD_PRELOAD: library, FAULT: file };
  const { stdout } = await execute(process.execPath, [program, data, fault], { env, timeout: 60_000 });
  return JSON.parse(stdout);
}

async function storedRevisions(data: string): Promise<readonly [number, number | undefined]> {
  const store = await openStore(data);
  const key = { group: "crash.slipway.dev", resource: "items", namespace: "default", name: "a" };
  const found = [store.revision, store.get(key)?.revision] as const;
  await store.close();
  return found;
}

describe.skipIf(!canFault)("when the system calls themselves fail", () => {
  // On file systems of both sorts: writes that end durably, and writes with a flush behind them (`endsDurably`).
  test.each(["/tmp", "/dev/shm"])(
    "a failed flush in %s rejects the commit, shows nothing of it, and is final",
    async (base) => {
      const data = await mkdtemp(join(base, "slipway-fault-flush-"));
      expect(await runWith("flush", data)).toMatchObject({
        healthy: "1",
        during: {
          broken: ["store-commit-failed", "store-commit-failed"],
          next: "store-failed",
          revision: 1,
          stored: 1,
          isFatal: true,
        },
        after: { next: "store-failed", revision: 1, stored: 1 },
      });
      expect((await checkStore(data)).findings).toEqual([]);
      expect(await storedRevisions(data)).toEqual([1, 1]);
      await rm(data, { recursive: true });
    },
  );

  test("a full disk rejects the commit, makes the store read-only, and passes", async () => {
    const data = join(directory, "write");
    expect(await runWith("write", data)).toMatchObject({
      healthy: "1",
      during: { broken: ["store-commit-failed", "store-commit-failed"], next: "store-full", stored: 1, isFatal: false },
      probed: { failure: "store-full" },
      after: { next: "2", revision: 2, stored: 2 },
    });
    expect((await checkStore(data)).findings).toEqual([]);
    expect(await storedRevisions(data)).toEqual([2, 2]);
  });
});
