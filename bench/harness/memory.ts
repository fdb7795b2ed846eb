import { readFileSync } from "node:fs";

/** Resident bytes of processes and all their descendants, shared pages counted for each; NaN where there is no /proc. */
export function treeRssBytes(roots: readonly number[]): number {
  try {
    return roots.reduce((sum, root) => sum + rssBytes(root) + treeRssBytes(childrenOf(root)), 0);
  } catch {
    // Not Linux, or one of them has ended meanwhile.
    return NaN;
  }
}

function rssBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? NaN) * 1024;
}

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
