import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { codeOf } from "./errors.ts";
import { isJsonObject } from "./json-value.ts";

/** Names a process for ever: a pid is used again, a pid with its start time and the machine's boot is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, or the date where the system counts none. */
  readonly startTicks?: string;
  /** The kernel's id of this boot; ticks count from it. Present with `startTicks`. */
  readonly boot?: string;
}

/** The identity of the process that has this pid now; only the pid if there is none. */
export function identityOf(pid: number): ProcessIdentity {
  const startTicks = startTicksOf(pid);
  const boot = bootId();
  return startTicks === undefined || boot === undefined ? { pid } : { pid, startTicks, boot };
}

/** An identity read from JSON; undefined for a value that is none. */
export function readIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isJsonObject(value) || typeof value["pid"] !== "number") return undefined;
  const { pid, startTicks, boot } = value;
  return typeof startTicks === "string" && typeof boot === "string" ? { pid, startTicks, boot } : { pid };
}

/** An identity as words of a label: `4711 123456 0b2c…`. */
export const formatIdentity = ({ pid, startTicks = "", boot = "" }: ProcessIdentity): string =>
  `${pid} ${startTicks} ${boot}`;

/** Undefined for another text, and for an identity without a start time: nothing is certain about that. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [, pid, startTicks = "", boot = ""] = /^(\d+) (\d+) (\S+)$/.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startTicks, boot };
}

/** A process of any machine, as it is written into files and objects. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  /** Tells it from a later process of the same pid; counts since `boot`. */
  readonly startTime?: string;
  readonly boot?: string;
}

/** The process that runs. */
export function thisProcess(): Owner {
  const { startTicks: startTime, boot, pid } = identityOf(process.pid);
  return { host: hostname(), pid, ...(startTime === undefined || boot === undefined ? {} : { startTime, boot }) };
}

/** Whether the process has ended for certain; see `hasEnded`. A process of another machine counts as alive. */
export const isDead = ({ host, pid, startTime, boot }: Owner): boolean =>
  host === hostname() &&
  hasEnded(startTime === undefined || boot === undefined ? { pid } : { pid, startTicks: startTime, boot });

/** True only if exactly this process still exists. An identity without a start time is never known to be alive. */
export function isAlive(process: ProcessIdentity): boolean {
  if (process.startTicks === undefined) return false;
  return process.boot === bootId() && process.startTicks === startTicksOf(process.pid);
}

/** True only if the process is certain to have ended. Without a start time, any process that has its pid is taken for it. */
export function hasEnded(identity: ProcessIdentity): boolean {
  const { pid, startTicks, boot } = identity;
  if (startTicks !== undefined && bootId() !== undefined) {
    const found = startTicksOf(pid);
    if (found !== undefined || boot !== bootId()) return !isAlive(identity);
    // A zombie. Without its file, the process is gone, or /proc hides those of other users.
    if (isLinux && readKernelFile(`/proc/${pid}/stat`) !== undefined) return true;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    // EPERM: it exists and belongs to another user.
    return codeOf(thrown) === "ESRCH";
  }
}

/**
 * Sends a signal to a process group. False when no process of it is left. The caller must know that the group is still its own:
 * its leader has not been waited for, or was alive a moment ago.
 */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (thrown) {
    // EPERM: only processes of other users are left in it, which had to leave our reach by themselves.
    if (codeOf(thrown) === "ESRCH" || codeOf(thrown) === "EPERM") return false;
    throw thrown;
  }
}

const isLinux = process.platform === "linux";

/** Field 22 of proc(5) stat, kept as text: it is only ever compared. */
function startTicksOf(pid: number): string | undefined {
  if (!isLinux) return startDateOf(pid);
  const stat = readKernelFile(`/proc/${pid}/stat`);
  // The second field, the program's name in parentheses, may itself hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  // A zombie has ended; only its parent has not asked yet.
  return fields?.[0] === "Z" || fields?.[0] === "X" ? undefined : fields?.[19];
}

/** For systems without /proc: whole seconds, so that a pid used again within one is mistaken for its former owner. */
function startDateOf(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined; // No such process.
  }
}

// The same for as long as this process can live.
let knownBoot: string | undefined;

/** Dates need no boot to count from. */
function bootId(): string | undefined {
  knownBoot ??= isLinux ? readKernelFile("/proc/sys/kernel/random/boot_id")?.trim() : "any";
  return knownBoot;
}

function readKernelFile(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // The process is gone, or /proc is not mounted: both mean that nothing is known.
    return undefined;
  }
}
