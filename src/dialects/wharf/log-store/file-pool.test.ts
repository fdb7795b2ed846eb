import { join } from "node:path";
import { expect, test } from "vitest";
import { openFilesBelow } from "#test/support/open-files.ts";
import { deferred } from "#lib/base/index.ts";
import { createFilePool } from "./file-pool.ts";
import { inDirectory } from "./testing/log-lines.ts";

test("a pool that is closed keeps no file: not those in use, and not those that somebody uses later", () =>
  inDirectory(async (directory) => {
    const pool = createFilePool();
    const go = deferred<void>();
    const [one, two] = [join(directory, "one"), join(directory, "two")];
    const using = pool.use(one, async (handle) => {
      await go.promise;
      return await handle.stat();
    });
    await pool.use(two, (handle) => handle.stat());
    expect(pool.size).toBe(2);
    await pool.close();
    expect(pool.size).toBe(1);
    go.resolve();
    expect((await using).size).toBe(0);
    await pool.use(two, (handle) => handle.stat());
    await expect(pool.use(one, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(pool.size).toBe(0);
    expect(await openFilesBelow(directory)).toEqual([]);
  }));
