import { spawn } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { createInterface } from "node:readline";
import { makeDirectories, refuseShared } from "#lib/base/index.node.ts";
import { type Environment, Exit } from "#kernel/command/index.ts";
import type { Served } from "./output/greeting.ts";

/** A server that runs in the background. */
export interface DetachedServer {
  readonly facts: Omit<Served, "isFound" | "log">;
  /** The file that it logs to. */
  readonly log: string;
}

/**
 * Starts the `slipway up` of this command line again, in a session of its own, and resolves when it is ready. If it cannot start, its log of
 * this start is printed and the command ends with its code.
 */
export async function startDetached(
  directory: string,
  { directory: cwd, all, err }: Environment,
  signal: AbortSignal,
): Promise<DetachedServer> {
  await makeDirectories(directory, 0o700);
  // In a directory of another user the log could be a link to a file of this one.
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
    signal.addEventListener("abort", stop, { once: true });
    const ended = once(child, "exit");
    // The server prints one line, when it is ready, and nothing after it.
    const first = await createInterface(stdout)[Symbol.asyncIterator]().next();
    signal.removeEventListener("abort", stop);
    if (first.done === true) {
      const [code] = (await ended) as [number | null];
      signal.throwIfAborted();
      const { size: end } = await file.stat();
      // A large log has begun anew.
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
