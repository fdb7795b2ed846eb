import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes that this process holds in its heap and beside it, without garbage. */
export function settledBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Resident bytes of processes and all their descendants, shared pages counted for each; NaN where there is no /proc. */
export function treeRssBytes(roots: readonly number[]): number {
  try {
    return roots.reduce((sum, root) => sum + statusBytes(root, "VmRSS") + treeRssBytes(childrenOf(root)), 0);
  } catch {
    // Not Linux, or one of them has ended meanwhile.
    return NaN;
  }
}

/** The most that a process has had at any moment of its life; NaN where there is no /proc. */
export function mostRssBytes(pid: number): number {
  try {
    return statusBytes(pid, "VmHWM");
  } catch {
    return NaN;
  }
}

function statusBytes(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? NaN) * 1024;
}

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
