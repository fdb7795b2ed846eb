import { hostname } from "node:os";
import { identityOf, isAlive } from "#kernel/runtimes/index.ts";
import { codeOf } from "#lib/base/index.ts";
import type { Owner } from "./build-document.ts";

/** The process that runs. */
export function thisProcess(): Owner {
  const { pid, startTicks, boot } = identityOf(process.pid);
  return {
    host: hostname(),
    pid,
    ...(startTicks === undefined ? {} : { startTime: startTicks }),
    ...(boot === undefined ? {} : { boot }),
  };
}

/**
 * Whether the writer of a store has ended for certain. Of another machine nobody here can tell, so that its stores are left alone; where
 * the system tells no start times a process of that number counts as the one that was meant.
 */
export function isDead({ host, pid, startTime, boot }: Owner): boolean {
  if (host !== hostname()) return false;
  if (startTime !== undefined && boot !== undefined) return !isAlive({ pid, startTicks: startTime, boot });
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    return codeOf(thrown) === "ESRCH";
  }
}
