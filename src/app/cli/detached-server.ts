import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";
import { onAbort } from "#lib/base/index.ts";
import { type Environment, Exit } from "#kernel/command/index.ts";
import type { Served } from "./output/greeting.ts";

export interface DetachedServer {
  readonly facts: Omit<Served, "isFound" | "log">;
  readonly log: string;
}

/**
 * Runs this command line again without `--detach`, in a session of its own, and resolves when the server is ready. If
 * it cannot start, prints its log of this start and exits with its code.
 */
export async function startDetached(
  directory: string,
  { directory: cwd, all, err }: Environment,
  signal: AbortSignal,
): Promise<DetachedServer> {
  await makeDirectories(directory, 0o700);
  // In a directory of another user, the log could be a link to a file of this user.
  await refuseShared(directory);
  const log = `${directory}/slipway.log`;
  const file = await open(log, "a+", 0o600);
  try {
    const { size } = await file.stat();
    const words = process.argv.slice(1).filter((word) => word !== "--detach");
    const child = spawn(process.execPath, [...words, "-o", "json"], {
      cwd,
      env: all,
      detached: true,
      stdio: ["ignore", "pipe", file.fd],
    });
    const { stdout } = child;
    if (stdout === null) throw new Error("spawn has made no pipe");
    const stop = (): void => void child.kill("SIGTERM");
    const unlisten = onAbort(signal, stop);
    const ended = once(child, "exit");
    // The server prints one line when it is ready, and no more.
    const first = await createInterface(stdout)[Symbol.asyncIterator]().next();
    unlisten();
    if (first.done === true) {
      const [code] = (await ended) as [number | null];
      signal.throwIfAborted();
      const { size: end } = await file.stat();
      // The log was rotated.
      const from = end < size ? 0 : size;
      const said = Buffer.alloc(end - from);
      await file.read(said, 0, said.length, from);
      err.write(said.toString());
      throw new Exit(code ?? 1);
    }
    stdout.destroy();
    child.unref();
    return { facts: JSON.parse(first.value) as DetachedServer["facts"], log };
  } finally {
    await file.close();
  }
}
