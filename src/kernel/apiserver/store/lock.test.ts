import { join } from "node:path";
import { expect, test } from "vitest";
import { lockDirectory } from "./lock.ts";
import { withDirectory } from "./testing/store-objects.ts";

test("a data directory is created for its lock, and belongs to one server, which the refusal names", () =>
  withDirectory(async (parent) => {
    const directory = join(parent, "new", "data");
    const lock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toMatchObject({ code: "store-locked", pid: process.pid });
    await lock.announce("https://127.0.0.1:6443");
    await expect(lockDirectory(directory)).rejects.toMatchObject({
      pid: process.pid,
      url: "https://127.0.0.1:6443",
      message: expect.stringContaining("https://127.0.0.1:6443"),
    });
    await lock.release();
    await (await lockDirectory(directory)).release();
  }));
