import type { Readable } from "node:stream";
import { ApiError } from "#kernel/model/index.ts";
import { type JsonObject, type JsonValue, isJsonObject, messageOf } from "#lib/base/index.ts";
import type { Interaction } from "#kernel/runtimes/index.ts";
import { canEndChannels, type ChannelSocket, channels, writeTo } from "#kernel/websocket/index.ts";

/** The streams the client wants; the others are read and dropped. */
export interface WantedStreams {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/** Kills the command when the client goes away or `signal` aborts; ends with a Status. Never rejects. */
export async function runCommand(
  socket: ChannelSocket,
  running: Interaction,
  wanted: WantedStreams,
  signal: AbortSignal,
): Promise<void> {
  const { stdin, stdout, stderr } = running;
  const abort = () => {
    socket.close(1001, "the server ends this connection");
    // The client may not answer the close.
    running.kill();
  };
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  void socket.closed.then(() => {
    signal.removeEventListener("abort", abort);
    running.kill();
  });
  socket.listen((channel, payload) => {
    if (channel === channels.stdin) return stdin && writeTo(stdin, payload);
    if (channel === channels.resize) return resize(running, payload);
    const endsStdin = channel === channels.close && payload[0] === channels.stdin;
    if (endsStdin && canEndChannels(socket.protocol)) stdin?.end();
  });
  // Clients wait for an empty first message, which shows that the connection works.
  await socket.send(
    wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.error,
    Buffer.alloc(0),
  );
  const pump = (stream: Readable | undefined, channel: number, isWanted: boolean) =>
    stream === undefined ? undefined : isWanted ? sendAll(socket, stream, channel) : forget(stream);
  const outputs = Promise.all([
    pump(stdout, channels.stdout, wanted.stdout),
    pump(stderr, channels.stderr, wanted.stderr),
  ]);
  const [, status] = await Promise.all([outputs, endOf(running)]);
  await socket.send(channels.error, Buffer.from(JSON.stringify(status)));
  socket.close();
}

/** `{"Width": 80, "Height": 24}`; anything else is ignored, as in Kubernetes. */
function resize(running: Interaction, payload: Buffer): void {
  const { Width: columns, Height: rows } = jsonOf(payload);
  if (isSize(columns) && isSize(rows)) running.resize({ columns, rows });
}

function jsonOf(payload: Buffer): JsonObject {
  try {
    const value = JSON.parse(payload.toString("utf8")) as JsonValue;
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;

/** A broken stream just ends; the command's end says why. */
async function sendAll(socket: ChannelSocket, stream: Readable, channel: number): Promise<void> {
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) if (!(await socket.send(channel, chunk))) return;
  } catch {
    stream.destroy();
  }
}

/** Reads to the end: a command whose output is not read blocks. */
function forget(stream: Readable): undefined {
  stream.on("error", () => undefined);
  stream.resume();
}

/** Clients parse the exit code from this JSON (protocol v4 and later). */
async function endOf({ ended }: Interaction): Promise<JsonObject> {
  try {
    const code = await ended;
    if (code === 0) return { metadata: {}, status: "Success" };
    return {
      metadata: {},
      status: "Failure",
      message: `command terminated with non-zero exit code: exit status ${code}`,
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: `${code}` }] },
    };
  } catch (thrown) {
    const { status, reason, message, code } = new ApiError(
      "InternalError",
      `error executing command: ${messageOf(thrown)}`,
    ).toStatus();
    return { metadata: {}, status, reason: reason ?? "InternalError", message: message ?? "", code };
  }
}
