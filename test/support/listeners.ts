import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A TCP listener of a process. */
export interface Listener {
  readonly port: number;
  readonly pid: number;
}

/** All TCP listeners of a process, of its descendants, and of the programs whose command line names the directory. */
export function listenersOf(pid: number, directory: string): readonly Listener[] {
  const pids = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
  const parents = new Map(pids.map((one) => [Number(one), parentOf(one)]));
  const isBelow = (one: number): boolean => one === pid || (one > 1 && isBelow(parents.get(one) ?? 0));
  const listening = new Map([...socketsIn("/proc/net/tcp"), ...socketsIn("/proc/net/tcp6")]);
  return pids
    .filter((one) => isBelow(Number(one)) || textOf(`/proc/${one}/cmdline`).includes(directory))
    .flatMap((one) =>
      inodesOf(one)
        .flatMap((inode) => listening.get(inode) ?? [])
        .map((port) => ({ port, pid: Number(one) })),
    );
}

/** Processes end while they are looked at. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const parentOf = (pid: string): number => Number(/\) \S (\d+)/.exec(textOf(`/proc/${pid}/stat`))?.[1] ?? 0);

/** Ports of listening sockets (state 0A) by inode. */
const socketsIn = (file: string): readonly (readonly [string, number])[] =>
  textOf(file)
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === "0A")
    .map((columns) => [columns[9] ?? "", Number.parseInt(columns[1]?.split(":")[1] ?? "", 16)] as const);

function inodesOf(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return [];
      }
    });
  } catch {
    return [];
  }
}
