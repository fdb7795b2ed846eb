import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { TerminalSize } from "../interaction.ts";
import { findProgram } from "./runner/host-command.ts";

// Node cannot open terminals; script(1) of util-linux can: it leads the known group, and the command is its only child,
// in its own session. stty(1) sets the terminal's size.

const run = promisify(execFile);

/** Between looks for the terminal of a new command. */
const lookEvery: Millis = 20;
const mostLooks = 100;

/** The command on a terminal, with echo and the same exit code; or why there are no terminals here. */
export async function onTerminal(
  command: readonly [string, ...string[]],
): Promise<readonly [string, ...string[]] | string> {
  const script = await findProgram("script");
  if (script === undefined) return "a terminal needs script(1) of util-linux";
  const line = `exec ${command.map(quoted).join(" ")}`;
  return [script, "--quiet", "--return", "--flush", "--echo", "always", "--command", line, "/dev/null"];
}

/** One word of a POSIX shell. */
const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** The command's process, which leads its own group; undefined if it is not there yet or any more. */
export async function commandOf(script: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${script}/task/${script}/children`, "latin1").catch(() => "");
  const pid = Number.parseInt(children, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

/**
 * Sets the size once there is a terminal, within seconds. Does nothing if the signal aborts before or stty(1) is
 * missing. Never rejects.
 */
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
    // It has ended.
  }
}
