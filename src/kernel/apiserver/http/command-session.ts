import type { Readable } from "node:stream";
import { ApiError } from "#kernel/model/index.ts";
import { type JsonObject, type JsonValue, isJsonObject, messageOf } from "#lib/base/index.ts";
import type { Interaction } from "#kernel/runtimes/index.ts";
import { canEndChannels, type ChannelSocket, channels, writeTo } from "#kernel/websocket/index.ts";

/** Which of a command's streams the client wants. Those that he does not want are read and forgotten. */
export interface WantedStreams {
  readonly stdout: boolean;
  readonly stderr: boolean;
}

/**
 * Carries the streams of a command over the channels of a connection, until both have ended: the command is killed when the client
 * goes away or `signal` aborts; when it ends the client gets the rest of its output, then one Status on the channel of errors. Takes
 * both over, and never rejects.
 */
export async function runCommand(
  socket: ChannelSocket,
  running: Interaction,
  wanted: WantedStreams,
  signal: AbortSignal,
): Promise<void> {
  const { stdin, stdout, stderr } = running;
  const abort = () => {
    socket.close(1001, "the server ends this connection");
    // The client need not agree to that.
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
  // A first message without content says that the connection works; clients wait for one.
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

/** `{"Width": 80, "Height": 24}`; what is none is passed over, as in Kubernetes. */
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

/** A stream that breaks has come to its end: why is said by how the command ended. */
async function sendAll(socket: ChannelSocket, stream: Readable, channel: number): Promise<void> {
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) if (!(await socket.send(channel, chunk))) return;
  } catch {
    stream.destroy();
  }
}

/** Read to the end, because a command that is not read stands still. */
function forget(stream: Readable): undefined {
  stream.on("error", () => undefined);
  stream.resume();
}

/** What clients read codes of; from v4 on it is JSON. */
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
