import { hostname } from "node:os";
import { hasEnded, identityOf } from "#lib/base/index.node.ts";
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
export const isDead = ({ host, pid, startTime, boot }: Owner): boolean =>
  host === hostname() &&
  hasEnded(startTime === undefined || boot === undefined ? { pid } : { pid, startTicks: startTime, boot });
