import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runnerPaths } from "#kernel/runtimes/process/paths.ts";
import { isAlive, lockOwner } from "#lib/base/index.node.ts";
import { rounds } from "./rounds.ts";
import { within } from "./within.ts";

export const root: string = fileURLToPath(new URL("../../", import.meta.url));
export const slipwayBin: string = join(root, "bin/slipway.cjs");

/** Holds the newest kubectl that the tests know, which `npm test` puts there. */
export const kubectlFolder: string = join(root, "node_modules/.cache/test-tools/bin");

/** kubectl ends before its garbage is worth collecting, which takes a third of its time, and the suites start it thousands of times. */
export const withoutCollecting: Readonly<Record<string, string>> = { GOGC: "off", GOMEMLIMIT: "256MiB" };

const runtimeDirectories: string[] = [];
process.once("exit", () => {
  for (const directory of runtimeDirectories) rmSync(directory, { recursive: true, force: true });
});
/** Where servers note themselves, and agents look for them. */
let runtimeDirectory: string;
/** Called for each file of tests, which share processes: programs of one find each other, and none of another. */
export function startAmongNoPrograms(): void {
  runtimeDirectory = mkdtempSync(join(tmpdir(), "slipway-runtime-"));
  runtimeDirectories.push(runtimeDirectory);
}
startAmongNoPrograms();

/** What a program printed and how it ended. */
export interface Finished {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface ExecOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/**
 * The environment of programs under test: found programs, and nothing that could lead them to somebody's cluster. Servers take no
 * usual address, of which there is one on a machine: a test of agents names its own.
 */
export const cleanEnvironment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: `${kubectlFolder}:${process.env["PATH"] ?? "/usr/bin:/bin"}`,
  HOME: tmpdir(),
  LANG: "C.UTF-8",
  ...withoutCollecting,
  // Each test has a home of its own, and would compile every command again.
  NODE_COMPILE_CACHE: join(root, "node_modules/.cache"),
  XDG_RUNTIME_DIR: runtimeDirectory,
  SLIPWAY_TINK_LISTEN: "off",
  SLIPWAY_WHARF_LISTEN: "off",
  SLIPWAY_WHARF_PROVISIONER_LISTEN: "off",
  ...more,
});

/** What has not ended by then hangs; shorter than any test may take, so that the program is told. */
const longestMs = 200_000;
const hung = ` (killed: no end within ${longestMs / 1000} s)`;
/** Starting and stopping a server on the busiest machine. */
const serverMs = rounds(60_000, 300_000);

/** Runs a program to its end, which is killed when it hangs; never rejects for what it says or how it ends. */
export function exec(program: string, args: readonly string[], options: ExecOptions = {}): Promise<Finished> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      {
        cwd: options.cwd ?? root,
        env: cleanEnvironment(options.env),
        maxBuffer: 64 * 1024 * 1024,
        timeout: longestMs,
        killSignal: "SIGKILL",
      },
      (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
        resolve({
          code,
          out,
          err: error !== null && code === null ? `${err}${error.message}${error.killed === true ? hung : ""}` : err,
        });
      },
    );
    // A program may end before it has read what it is given; how it ended is all that counts.
    child.stdin?.on("error", () => undefined);
    if (options.input === undefined) child.stdin?.end();
    else child.stdin?.end(options.input);
  });
}

/** Runs the command line of this repository. The bundle must be up to date; the test command sees to that. */
export const slipway = (args: readonly string[], options: ExecOptions = {}): Promise<Finished> =>
  exec(process.execPath, [slipwayBin, ...args], options);

export async function temporaryDirectory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), "slipway-test-"));
}

/** Tried again for a while: programs that are about to end may still write where it is being emptied. */
export const removeDirectory = (directory: string): Promise<void> =>
  rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });

/** A `slipway up` on a free loopback port in a temporary directory. */
export interface TestServer {
  readonly directory: string;
  readonly kubeconfig: string;
  readonly url: string;
  readonly process: ChildProcess;
  /** What it logged so far. */
  log(): string;
  /** What it printed so far: its greeting. */
  printed(): string;
  /** Kills the whole process group at once, as a power cut would, and waits until it is gone. */
  kill(): Promise<void>;
  /** Asks it to stop and waits. */
  stop(): Promise<number | null>;
}

/** Where a server that was told `--tink-listen 127.0.0.1:0` has found a port for agents. */
export function agentAddress(server: TestServer): string {
  const [, address] = /for agents of Tinkerbell at (\S+)/.exec(server.printed()) ?? [];
  if (address === undefined) throw new Error(`the server does not say where agents connect: ${server.printed()}`);
  return address;
}

export async function startServer(
  directory: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  [node, bin]: readonly [node: string, bin: string] = [process.execPath, slipwayBin],
): Promise<TestServer> {
  const child = spawn(node, [bin, "up", "--data-dir", directory, "--port", "0", ...args], {
    cwd: root,
    env: cleanEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let log = "";
  let printed = "";
  child.stdout?.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (log += chunk.toString()));
  const exited = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const url = await within(
    serverMs,
    "slipway up serves",
    firstUrl(
      child,
      exited,
      () => printed,
      () => log,
    ),
    () => log,
  );
  const signal = (name: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, name);
  };
  return {
    directory,
    kubeconfig: join(directory, "kubeconfig"),
    url,
    process: child,
    log: () => log,
    printed: () => printed,
    async kill() {
      signal("SIGKILL");
      await exited;
    },
    stop() {
      signal("SIGTERM");
      return within(serverMs, "slipway up ends after SIGTERM", exited, () => log);
    },
  };
}

/** A program for `startServer` that sends the log of the server elsewhere, in words of bash: `2>/dev/full`. */
export async function logsTo(redirection: string, directory: string): Promise<readonly [node: string, bin: string]> {
  const script = join(directory, "up.sh");
  await writeFile(script, `exec '${process.execPath}' '${slipwayBin}' "$@" ${redirection}\n`);
  return ["bash", script];
}

/** The greeting is one write, and shorter than what a pipe takes at once. */
function firstUrl(
  child: ChildProcess,
  exited: Promise<number | null>,
  printed: () => string,
  log: () => string,
): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.on("data", () => {
      const url = /https:\/\/\S+/.exec(printed())?.[0];
      if (url !== undefined) resolve(url);
    });
    void exited.then((code) => reject(new Error(`slipway up ended with ${code} before it served:\n${log()}`)));
  });
}

/** Ends the host steps of a server that is gone: the runner stays for a while by design. */
export async function endRunner(directory: string): Promise<void> {
  const holder = await lockOwner(runnerPaths(join(directory, "runner")).lock).catch(() => undefined);
  // A number alone may be another process's by now.
  if (holder !== undefined && isAlive(holder)) process.kill(holder.pid, "SIGTERM");
}
