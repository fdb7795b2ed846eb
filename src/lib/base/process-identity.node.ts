import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { codeOf } from "./errors.ts";
import { isJsonObject } from "./json-value.ts";

/** Unique: pids are reused, a pid with start time and boot is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot, or a date where the system counts none. */
  readonly startTicks?: string;
  /** The kernel's id of the boot that ticks count from. Present with `startTicks`. */
  readonly boot?: string;
}

/** Only the pid if there is no such process. */
export function identityOf(pid: number): ProcessIdentity {
  const startTicks = startTicksOf(pid);
  const boot = bootId();
  return startTicks === undefined || boot === undefined ? { pid } : { pid, startTicks, boot };
}

/** From JSON; undefined if malformed. */
export function readIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isJsonObject(value) || typeof value["pid"] !== "number") return undefined;
  const { pid, startTicks, boot } = value;
  return typeof startTicks === "string" && typeof boot === "string" ? { pid, startTicks, boot } : { pid };
}

/** As words of a label: `4711 123456 0b2c…`. */
export const formatIdentity = ({ pid, startTicks = "", boot = "" }: ProcessIdentity): string =>
  `${pid} ${startTicks} ${boot}`;

/** Undefined if malformed or without start time, as nothing is certain then. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [, pid, startTicks = "", boot = ""] = /^(\d+) (\d+) (\S+)$/.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), startTicks, boot };
}

/** A process of any machine, as written into files and objects. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  /** Counts since `boot`. */
  readonly startTime?: string;
  readonly boot?: string;
}

export function thisProcess(): Owner {
  const { startTicks: startTime, boot, pid } = identityOf(process.pid);
  return { host: hostname(), pid, ...(startTime === undefined || boot === undefined ? {} : { startTime, boot }) };
}

/** See `hasEnded`. A process of another machine counts as alive. */
export const isDead = ({ host, pid, startTime, boot }: Owner): boolean =>
  host === hostname() &&
  hasEnded(startTime === undefined || boot === undefined ? { pid } : { pid, startTicks: startTime, boot });

/** True only if exactly this process exists; false without a start time. */
export function isAlive(process: ProcessIdentity): boolean {
  if (process.startTicks === undefined) return false;
  return process.boot === bootId() && process.startTicks === startTicksOf(process.pid);
}

/** True only if the process has certainly ended. Without start time, any process with its pid is taken for it. */
export function hasEnded(identity: ProcessIdentity): boolean {
  const { pid, startTicks, boot } = identity;
  if (startTicks !== undefined && bootId() !== undefined) {
    const found = startTicksOf(pid);
    if (found !== undefined || boot !== bootId()) return !isAlive(identity);
    // A zombie. If the file is missing, the process is gone or /proc hides those of other users.
    if (isLinux && readKernelFile(`/proc/${pid}/stat`) !== undefined) return true;
  }
  try {
    process.kill(pid, 0);
    return false;
  } catch (thrown) {
    // EPERM: it belongs to another user.
    return codeOf(thrown) === "ESRCH";
  }
}

/** False if no process of the group is left. Its leader must be unreaped or recently alive: numbers are reused. */
export function signalGroup(leader: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (thrown) {
    // EPERM: only processes of other users are left.
    if (codeOf(thrown) === "ESRCH" || codeOf(thrown) === "EPERM") return false;
    throw thrown;
  }
}

const isLinux = process.platform === "linux";

/** Field 22 of proc(5) stat; only compared. */
function startTicksOf(pid: number): string | undefined {
  if (!isLinux) return startDateOf(pid);
  const stat = readKernelFile(`/proc/${pid}/stat`);
  // The second field, the program's name, may hold spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, threads, startTicks] = [fields?.[0], Number(fields?.[17]), fields?.[19]];
  // Of a killed process the first thread may be a zombie while another one still writes to a file.
  return state === "X" || (state === "Z" && threads <= 1) ? undefined : startTicks;
}

/** For systems without /proc. Whole seconds: a pid reused within one is not told apart. */
function startDateOf(pid: number): string | undefined {
  try {
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined; // No such process.
  }
}

let knownBoot: string | undefined;

function bootId(): string | undefined {
  knownBoot ??= isLinux ? readKernelFile("/proc/sys/kernel/random/boot_id")?.trim() : "any";
  return knownBoot;
}

function readKernelFile(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
