import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, codeOf, type Logger, messageOf, type Millis, SlipwayError, sleep } from "#lib/base/index.ts";
import { acquireLock, isHeld, makeDirectories } from "#lib/base/index.node.ts";
import { type Connection, openClient, trustText } from "./connection.ts";
import { type RebarClient, isUnreachable } from "./client.ts";
import { openHostPlace } from "./host-place.ts";
import { fileJournal } from "./journal.ts";
import { runAgent } from "./run-agent.ts";
import { writeShims } from "./shims.ts";
import type { WorkPlace } from "./work-place.ts";

/** The settings of an agent on a host, checked. */
export interface HostAgentSettings {
  readonly machine: string;
  /** Default: the machine's own, empty. */
  readonly context?: string;
  readonly isOneShot?: boolean;
  readonly exitsOnFailure?: boolean;
  readonly marksRunnable?: boolean;
  /** Default: off. */
  readonly power?: "off" | "real";
  readonly connection: Connection;
  /** Absolute. */
  readonly stateDirectory: string;
  /** Absolute; RS_RUNNER_DIR. */
  readonly runnerDirectory?: string;
  /** The command that starts this program, for `drpcli` and `jq` in scripts. Absent: scripts use what is installed. */
  readonly shims?: readonly string[];
}

export interface HostAgentSurroundings {
  /** What scripts inherit. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly tell: (line: string) => void;
  readonly echo: (bytes: Uint8Array) => void;
}

const connectPause: Millis = 30_000;

/** Runs an agent on this host until it exits. Resolves with the error that it ends with, if any. */
export async function openHostAgent(
  settings: HostAgentSettings,
  around: HostAgentSurroundings,
  stopped: AbortSignal,
): Promise<string | undefined> {
  const { machine, context = "", stateDirectory, connection } = settings;
  const { clock, tell } = around;
  await makeDirectories(stateDirectory, 0o700);
  const lock = await acquireLock(join(stateDirectory, `${lockName(machine, context)}.lock`));
  if (!isHeld(lock))
    throw new SlipwayError("rebar-agent-running", `another agent serves machine ${machine} with ${stateDirectory}`, {
      hint: "stop it first, or use another directory with --state-dir",
    });
  let client: RebarClient | undefined;
  let place: WorkPlace | undefined;
  try {
    tell(trustText(connection.trust));
    client = await connected(settings, around, stopped);
    if (client === undefined) return undefined;
    place = await openPlace(settings, around, client, stopped);
    const { isOneShot = false, exitsOnFailure = false, marksRunnable = false, power } = settings;
    const options = { machine, context, isOneShot, exitsOnFailure, marksRunnable, client, place, os: systemName };
    const journal = context === "" ? { journal: fileJournal(stateDirectory, machine) } : {};
    const powers = power === "real" ? { power: (command: "reboot" | "poweroff") => switchOff(command, around) } : {};
    return await runAgent({ ...options, ...journal, ...powers, clock, tell, echo: around.echo }, stopped);
  } finally {
    await place?.close();
    client?.close();
    await lock.release();
  }
}

/** Contexts have any name. */
const lockName = (machine: string, context: string): string =>
  context === "" ? machine : `${machine}-${createHash("sha256").update(context).digest("hex").slice(0, 16)}`;

const systemName = process.platform === "win32" ? "windows" : process.platform;

/** Waits for a server that is not there yet, as a booting machine must. Undefined when stopped. */
async function connected(
  { connection, exitsOnFailure, isOneShot }: HostAgentSettings,
  { clock, tell }: HostAgentSurroundings,
  stopped: AbortSignal,
): Promise<RebarClient | undefined> {
  while (!stopped.aborted) {
    try {
      return await openClient(connection, clock, stopped);
    } catch (thrown) {
      if (stopped.aborted) return undefined;
      if (exitsOnFailure || isOneShot || !isUnreachable(thrown)) throw thrown;
      tell(`error: ${messageOf(thrown)}; trying again in ${connectPause / 1000} s`);
      await sleep(clock, connectPause, stopped).catch(() => undefined);
    }
  }
  return undefined;
}

async function openPlace(
  { machine, runnerDirectory, shims }: HostAgentSettings,
  { environment, clock, log, tell }: HostAgentSurroundings,
  client: RebarClient,
  signal: AbortSignal,
): Promise<WorkPlace> {
  const temporary = runnerDirectory === undefined ? await temporaryOf(machine, client, signal) : tmpdir();
  const given = runnerDirectory === undefined ? {} : { runnerDirectory };
  const place = await openHostPlace({ ...given, temporary, environment, clock, log });
  if (shims === undefined) return place;
  const path = environment["PATH"] ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  const PATH = await writeShims(join(place.runnerDirectory, ".bin"), shims, path).catch((thrown: unknown) => {
    tell(`scripts cannot call drpcli and jq: ${messageOf(thrown)}`);
    return path;
  });
  return { ...place, environment: { ...place.environment, PATH } };
}

/** The param `runner-tmpdir`, else the system's directory. */
async function temporaryOf(machine: string, client: RebarClient, signal: AbortSignal): Promise<string> {
  const path = ["machines", machine, "params", "runner-tmpdir"];
  const found = await client.get(path, signal, [["aggregate", "true"]]).catch(() => null);
  return typeof found === "string" && found.startsWith("/") ? found : tmpdir();
}

async function switchOff(command: "reboot" | "poweroff", { environment }: HostAgentSurroundings): Promise<void> {
  const { spawn } = await import("node:child_process");
  await new Promise<void>((resolve, reject) => {
    const started = spawn(command, { stdio: "inherit", env: environment });
    started.once("error", (thrown) => {
      const words = codeOf(thrown) === "ENOENT" ? "is not installed" : messageOf(thrown);
      reject(new Error(`${command} ${words}`));
    });
    started.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${command} exited with ${code}`))));
  });
}
