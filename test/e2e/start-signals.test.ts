import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, watch } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cleanEnvironment, removeDirectory, root, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";

/** Resolves when a file of that name has come into the directory. */
async function appeared(directory: string, name: string): Promise<void> {
  for await (const { filename } of watch(directory)) if (filename === name) return;
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s while a server starts ends it with 0, and its directory is free",
  async (signal) => {
    // On a busy machine the signal may come when the server serves already; then it is tried again.
    let late = 0;
    while (!(await endsWhileStarting(signal))) expect(++late, "starts that took no heed of it").toBeLessThan(20);
  },
);

/** Whether it was still starting; in any case it stops as it was asked to, and nothing of it is left. */
async function endsWhileStarting(signal: NodeJS.Signals): Promise<boolean> {
  const directory = await temporaryDirectory();
  const locked = appeared(directory, "lock");
  const child = spawn(process.execPath, [slipwayBin, "up", "--data-dir", directory, "--port", "0"], {
    cwd: root,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const exit = once(child, "close");
  await within(60_000, "the server locks its directory", locked, () => printed);
  child.kill(signal);
  expect(await within(60_000, `the end after ${signal}`, exit, () => printed), printed).toEqual([0, null]);
  await expect(access(join(directory, "lock"))).rejects.toThrow("ENOENT");
  await removeDirectory(directory);
  return !printed.includes("is ready at");
}
