import { Masker } from "#kernel/streams/index.ts";
import type { ExecResult } from "../contract.ts";
import type { EngineClient } from "./engine/engine-client.ts";
import { textOf } from "./engine/members.ts";
import { FrameReader } from "./engine/stream-frames.ts";

const keptOutput = 4_096;

/** Runs a command in a container, masked; 126 or 127: no program. After an abort the command continues. */
export async function execIn(
  engine: EngineClient,
  container: string,
  command: readonly string[],
  signal: AbortSignal,
  masked: readonly string[] = [],
): Promise<ExecResult> {
  const body = { AttachStdout: true, AttachStderr: true, Cmd: [...command] };
  const made = await engine.object("POST", `/containers/${container}/exec`, { body, signal });
  const path = `/exec/${textOf(made, "Id")}`;
  const response = await engine.stream("POST", `${path}/start`, { body: { Detach: false, Tty: false }, signal });
  const pieces: Buffer[] = [];
  let length = 0;
  const frames = new FrameReader((_stream, payload) => {
    if (length < keptOutput) pieces.push(payload.subarray(0, keptOutput - length));
    length += payload.length;
  });
  for await (const chunk of response as AsyncIterable<Buffer>) frames.push(chunk);
  const { ExitCode } = await engine.object("GET", `${path}/json`, { signal });
  const output = withoutValues(Buffer.concat(pieces), masked, length > keptOutput).toString("utf8");
  return { code: typeof ExitCode === "number" ? ExitCode : 126, output };
}

/** The end of cut output may be the beginning of a value, and is dropped. */
function withoutValues(output: Buffer, masked: readonly string[], isCut: boolean): Buffer {
  if (masked.length === 0) return output;
  const masker = new Masker(masked);
  const shown = masker.take(output);
  return isCut ? shown : Buffer.concat([shown, masker.end()]);
}
