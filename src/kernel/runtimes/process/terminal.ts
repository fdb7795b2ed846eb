import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { TerminalSize } from "../interaction.ts";
import { findProgram } from "./runner/host-command.ts";

// Node cannot open terminals. script(1) of util-linux can: it leads the group that we know; its one child, the command,
// has a session of its own on the terminal. stty(1) sets the terminal's size, and the kernel notifies the command.

const run = promisify(execFile);
const lookEvery: Millis = 20;
const mostLooks = 100;

/** Wraps the command to run on a terminal with echo, keeping its exit code; or says why that is impossible. */
export async function onTerminal(
  command: readonly [string, ...string[]],
): Promise<readonly [string, ...string[]] | string> {
  const script = await findProgram("script");
  if (script === undefined) return "a terminal needs script(1) of util-linux";
  const line = `exec ${command.map(quoted).join(" ")}`;
  return [script, "--quiet", "--return", "--flush", "--echo", "always", "--command", line, "/dev/null"];
}

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** The command's process, which leads a group of its own; undefined before it starts and after it ended. */
export async function commandOf(script: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${script}/task/${script}/children`, "latin1").catch(() => "");
  const pid = Number.parseInt(children, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

/** Sets the size once there is a terminal. Does nothing after an abort or without stty(1). Never rejects. */
export async function resizeTerminal(
  script: number,
  { columns, rows }: TerminalSize,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  try {
    const stty = await findProgram("stty");
    if (stty === undefined) return;
    for (let look = 0; look < mostLooks; look++) {
      const pid = await commandOf(script);
      const terminal = pid === undefined ? "" : await readlink(`/proc/${pid}/fd/0`).catch(() => "");
      signal.throwIfAborted();
      if (/^\/dev\/pts\/\d+$/.test(terminal)) {
        await run(stty, ["-F", terminal, "rows", `${rows}`, "cols", `${columns}`], { env: {} });
        return;
      }
      await sleep(clock, lookEvery, signal);
    }
  } catch {
    // It has ended meanwhile.
  }
}
