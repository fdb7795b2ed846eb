import { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryDirectory } from "../../testing/index.ts";
import { closeWritingEnd, PipePool } from "./pipe-pool.ts";

test("a machine that could start no program at first gives pipes when it can", async () => {
  const directory = await temporaryDirectory();
  onTestFinished(() => directory.remove());
  // Without memory Node throws in the call itself.
  const spawn = vi.spyOn(ChildProcess.prototype as unknown as { spawn: () => void }, "spawn");
  onTestFinished(() => spawn.mockRestore());
  const full = (): never => {
    throw Object.assign(new Error("spawn ENOMEM"), { code: "ENOMEM" });
  };
  spawn.mockImplementationOnce(full).mockImplementationOnce(full);
  const pool = await PipePool.create(join(directory.path, "pipes"));
  await expect(pool.acquire()).rejects.toMatchObject({ code: "pipes-failed" });
  const pipe = await pool.acquire();
  closeWritingEnd(pipe);
  pipe.release(true);
  await pool.close();
});
