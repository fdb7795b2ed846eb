import type { Writable } from "node:stream";
import { deferred, isJsonObject, type JsonObject, SlipwayError, toError, onAbort } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { Status } from "#kernel/model/index.ts";
import { canEndChannels, channels, type ChannelSocket, commandProtocols, writeTo } from "#kernel/websocket/index.ts";
import type { ApiChannel } from "./api-channel.ts";
import { isStatus, refusalInEvent } from "./refused-answer.ts";

/** In characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface ExecOptions {
  /** No shell reads it. */
  readonly command: readonly string[];
  /** Default: the server's choice. May be a running init container. */
  readonly container?: string;
  /** Read as fast as the program reads. Old protocols cannot signal its end; the program must know it. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Ended with the output, or destroyed when the connection breaks. Closing it ends the exec. */
  readonly stdout?: Writable;
  /** Empty with a terminal. */
  readonly stderr?: Writable;
  /** Gives the program a terminal, with its sizes. */
  readonly terminal?: AsyncIterable<TerminalSize>;
  /** Ends the connection; the program may continue. */
  readonly signal?: AbortSignal;
}

export interface ExecEnd {
  readonly exitCode: number;
}

const maxStatusBytes = 2 ** 20;
const maxPartBytes = 32 * 1024;

export async function runExec(channel: ApiChannel, path: string, options: ExecOptions): Promise<ExecEnd> {
  const { signal, stdout, stderr } = options;
  const sinks = [stdout, stderr].filter((sink) => sink !== undefined);
  try {
    const socket = await channel.upgrade({ path, protocols: commandProtocols, ...(signal && { signal }) });
    const status = await lastWord(socket, channel, options);
    for (const sink of sinks) sink.end();
    return endOf(status);
  } catch (thrown) {
    // Without the failure, which is thrown here: a stream without listeners would end the process with it.
    for (const sink of sinks) sink.destroy();
    throw thrown;
  }
}

/** Carries the streams until the server reports the end; what comes afterwards is ignored. */
async function lastWord(socket: ChannelSocket, channel: ApiChannel, options: ExecOptions): Promise<Status> {
  const { signal, stdin, stdout, stderr, terminal } = options;
  const ended = deferred<Status>();
  const parts: Buffer[] = [];
  const leave = (): void =>
    ended.reject(new SlipwayError("client-closed", "the output of the program is no longer read"));
  const removeListener = onAbort(signal, () => ended.reject(toError(signal?.reason)));
  for (const sink of [stdout, stderr]) sink?.once("close", leave);
  if (stdout?.destroyed === true || stderr?.destroyed === true) leave();
  const takeStatus = (part: Buffer): void => {
    parts.push(part);
    const status = readStatus(parts);
    if (status !== undefined) ended.resolve(status);
    else if (parts.reduce((sum, { length }) => sum + length, 0) > maxStatusBytes)
      ended.reject(channel.fail(`a status of more than ${maxStatusBytes} bytes`));
  };
  socket.listen((number, payload) => {
    // Servers begin with an empty message on each channel.
    if (payload.length === 0) return undefined;
    if (number === channels.stdout) return written(stdout, payload);
    if (number === channels.stderr) return written(stderr, payload);
    return number === channels.error ? takeStatus(payload) : undefined;
  });
  // What was read before the end counts.
  void socket.closed.then(() => socket.settled).then(() => ended.reject(channel.broken(signal)));
  if (stdin !== undefined) sendAll(stdin, socket).catch(ended.reject);
  if (terminal !== undefined) sendSizes(terminal, socket).catch(ended.reject);
  try {
    const status = await ended.promise;
    socket.close();
    return status;
  } catch (thrown) {
    socket.cut();
    throw thrown;
  } finally {
    removeListener();
    for (const sink of [stdout, stderr]) sink?.off("close", leave);
  }
}

const written = (sink: Writable | undefined, bytes: Buffer): Promise<void> | undefined =>
  sink === undefined ? undefined : writeTo(sink, bytes);

/** The input in parts, and its end if the protocol can express it. */
async function sendAll(source: AsyncIterable<Uint8Array>, socket: ChannelSocket): Promise<void> {
  for await (const chunk of source)
    for (let at = 0; at < chunk.length; at += maxPartBytes)
      if (!(await socket.send(channels.stdin, chunk.subarray(at, at + maxPartBytes)))) return;
  if (canEndChannels(socket.protocol)) await socket.send(channels.close, Uint8Array.of(channels.stdin));
}

async function sendSizes(sizes: AsyncIterable<TerminalSize>, socket: ChannelSocket): Promise<void> {
  for await (const { columns, rows } of sizes)
    if (!(await socket.send(channels.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))))) return;
}

/** Undefined until the status is complete. Servers omit what the protocol implies. */
function readStatus(parts: readonly Buffer[]): Status | undefined {
  const parsed = parseJson(Buffer.concat(parts).toString());
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const whole: JsonObject = { apiVersion: "v1", kind: "Status", metadata: {}, ...parsed.value };
  return isStatus(whole) && typeof whole.status === "string" ? whole : undefined;
}

/** A failure that is not the program's is the server's, and thrown. */
function endOf(status: Status): ExecEnd {
  if (status.status === "Success") return { exitCode: 0 };
  const cause = status.details?.causes?.find(({ reason }) => reason === "ExitCode");
  const exitCode = Number(cause?.message);
  if (cause === undefined || !Number.isInteger(exitCode)) throw refusalInEvent(status);
  return { exitCode };
}
