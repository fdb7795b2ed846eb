import { hostname } from "node:os";
import { hasEnded, identityOf } from "#lib/base/index.node.ts";

/** Which process writes or listens. `startTime` tells it from a later one of the same pid; it counts since `boot`. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly startTime?: string;
  readonly boot?: string;
}

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
 * Whether the process has ended for certain. A process of another machine counts as alive; where
 * the system tells no start times a process of that number counts as the one that was meant.
 */
export const isDead = ({ host, pid, startTime, boot }: Owner): boolean =>
  host === hostname() &&
  hasEnded(startTime === undefined || boot === undefined ? { pid } : { pid, startTicks: startTime, boot });
