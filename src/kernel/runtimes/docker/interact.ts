import { PassThrough, type Duplex } from "node:stream";
import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { Interaction, InteractionOptions, TerminalSize } from "../interaction.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { textOf } from "./engine/members.ts";
import { FrameReader } from "./engine/stream-frames.ts";

const retryPause: Millis = 50;
const mostFailures = 40;

/** Runs a command with streams. `kill` cuts the streams, and `ended` rejects; the engine lets the command continue. */
export async function interactIn(
  engine: EngineClient,
  container: string,
  command: readonly string[],
  { stdin, terminal }: InteractionOptions,
  clock: Clock,
): Promise<Interaction> {
  const attached = { AttachStdin: stdin, AttachStdout: true, AttachStderr: !terminal, Tty: terminal };
  const made = await engine.object("POST", `/containers/${container}/exec`, {
    body: { ...attached, Cmd: [...command] },
  });
  const path = `/exec/${textOf(made, "Id")}`;
  const connection = await engine.hijack(`${path}/start`, { body: { Detach: false, Tty: terminal } });
  // A broken connection ends the streams; the outcome is queried then.
  connection.on("error", () => undefined);
  // The engine reads no more of the input when the command has ended.
  connection.once("end", () => connection.destroy());
  const closed = new Promise<void>((resolve) => connection.once("close", resolve));
  let wanted: TerminalSize | undefined;
  let isResizing = false;
  /** A command that is about to start accepts no size yet. */
  async function resizeUntilTaken(): Promise<void> {
    for (let failures = 0; wanted !== undefined && failures < mostFailures && !connection.destroyed; ) {
      const { columns, rows } = wanted;
      wanted = undefined;
      try {
        await engine.call("POST", `${path}/resize`, { query: { w: `${columns}`, h: `${rows}` } });
      } catch {
        wanted ??= { columns, rows };
        failures += 1;
        await sleep(clock, retryPause);
      }
    }
  }
  const outputs = terminal ? rawOutput(connection) : framedOutputs(connection);
  return {
    ...(stdin ? { stdin: connection } : {}),
    ...outputs,
    ended: closed.then(() => exitCodeOf(engine, path)),
    resize: (size) => {
      wanted = size;
      if (isResizing) return;
      isResizing = true;
      void resizeUntilTaken().finally(() => (isResizing = false));
    },
    kill: () => void connection.destroy(),
  };
}

async function exitCodeOf(engine: EngineClient, path: string): Promise<number> {
  const { ExitCode, Running } = await engine.object("GET", `${path}/json`);
  if (Running === true) throw new Error("its streams were cut while it ran");
  return typeof ExitCode === "number" ? ExitCode : 126;
}

/** All bytes are output, read at the reader's pace. */
function rawOutput(connection: Duplex) {
  const stdout = new PassThrough();
  connection.pipe(stdout);
  connection.once("close", () => stdout.end());
  stdout.once("close", () => connection.resume());
  return { stdout };
}

/** Frames of both outputs, at the pace of the slower reader. A closed reader does not block. */
function framedOutputs(connection: Duplex) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const all = [stdout, stderr];
  const frames = new FrameReader((stream, payload) => {
    const output = stream === "stderr" ? stderr : stdout;
    if (output.writable) output.write(payload);
  });
  const goOn = () => {
    if (!all.some((output) => output.writable && output.writableNeedDrain)) connection.resume();
  };
  for (const output of all) output.on("drain", goOn).on("close", goOn);
  connection.on("data", (chunk: Buffer) => {
    try {
      frames.push(chunk);
    } catch {
      // Not output.
      connection.destroy();
    }
    if (all.some((output) => output.writable && output.writableNeedDrain)) connection.pause();
  });
  const end = () => all.forEach((output) => output.end());
  connection.once("end", end);
  connection.once("close", end);
  return { stdout, stderr };
}
