import { readdirSync, readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second, whatever its timer does. */
const usPerTick = 10_000;

interface ProcessTimes {
  readonly parent: number;
  readonly cpuUs: number;
}

/**
 * CPU used so far by processes and all their descendants, user and system, descendants that have ended and were waited for
 * included. NaN where there is no /proc.
 */
export function treeCpuUs(roots: readonly number[]): number {
  let names: readonly string[];
  try {
    names = readdirSync("/proc");
  } catch {
    // Not Linux: rates are told without CPU.
    return NaN;
  }
  const times = new Map(names.filter((name) => /^\d+$/.test(name)).flatMap((name) => entryOf(Number(name))));
  const belongs = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined; at = times.get(at)?.parent)
      if (roots.includes(at)) return true;
    return false;
  };
  let sum = 0;
  for (const [pid, { cpuUs }] of times) if (belongs(pid)) sum += cpuUs;
  return sum;
}

function entryOf(pid: number): readonly (readonly [number, ProcessTimes])[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the name in brackets and may hold anything; what follows its last bracket is regular.
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [, parent = 0, , , , , , , , , , user = 0, system = 0, childUser = 0, childSystem = 0] = fields;
    return [[pid, { parent, cpuUs: (user + system + childUser + childSystem) * usPerTick }]];
  } catch {
    // It has ended since the directory was read.
    return [];
  }
}
