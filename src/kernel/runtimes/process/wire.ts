import type { Socket } from "node:net";
import type { RuntimeCapabilities, Task, TaskStatus } from "../contract.ts";
import { frameTooLong } from "../errors.ts";

/** Increase it when a message changes its meaning. The two ends differ only if a runner outlives an upgrade. */
export const protocolVersion = 1;

/** Requests of a server. `seq` ascends and pairs the answers, in any order. Every request may be repeated. */
export type Request =
  | { readonly seq: number; readonly op: "hello"; readonly protocol: number }
  | { readonly seq: number; readonly op: "capabilities" }
  | { readonly seq: number; readonly op: "start"; readonly task: Task }
  | { readonly seq: number; readonly op: "stop"; readonly id: string; readonly graceMs: number }
  | { readonly seq: number; readonly op: "remove"; readonly ids: readonly string[] }
  | { readonly seq: number; readonly op: "release"; readonly stopTasksMs?: number };

/** The answer to hello. Its receiver owns the runner from now on and gets every later change. */
export interface Hello {
  /** The runner's version; if it differs from ours, no other message can be trusted. */
  readonly protocol: number;
  readonly tasks: readonly TaskStatus[];
}

/** Messages of a runner. `null` answers requests without a result. */
export type Message =
  | { readonly seq: number; readonly value: Hello | RuntimeCapabilities | TaskStatus | null }
  | { readonly seq: number; readonly error: string }
  /** A durable change, sent to the owner only. */
  | { readonly event: "task"; readonly status: TaskStatus }
  /** Another server said hello; this connection is closed. */
  | { readonly event: "replaced" };

/** Bounds a reader's memory; Linux limits arguments and environment together to 2 MiB. */
export const longestFrame = 16 * 1024 * 1024;

/** One message: four bytes of length, big endian, then that many bytes of JSON. Throws `frame-too-long`. */
export function encodeFrame(message: Request | Message): Buffer {
  const text = JSON.stringify(message);
  const length = Buffer.byteLength(text);
  if (length > longestFrame) throw frameTooLong(length, longestFrame);
  const frame = Buffer.allocUnsafe(4 + length);
  frame.writeUInt32BE(length, 0);
  frame.write(text, 4);
  return frame;
}

/**
 * Calls `receive` for every message, in order. A message that is too long or not JSON destroys the socket. The shape of
 * messages is trusted: only this user can open the socket. Pieces are joined once per message.
 */
export function receiveFrames<M extends Request | Message>(socket: Socket, receive: (message: M) => void): void {
  let held: Buffer[] = [];
  let length = 0;
  let wanted = 4;
  socket.on("data", (chunk: Buffer) => {
    held.push(chunk);
    length += chunk.length;
    if (length < wanted) return;
    let bytes = held.length === 1 && held[0] !== undefined ? held[0] : Buffer.concat(held);
    try {
      for (;;) {
        if (bytes.length < 4) break;
        const body = bytes.readUInt32BE(0);
        if (body > longestFrame) throw frameTooLong(body, longestFrame);
        if (bytes.length < 4 + body) break;
        receive(JSON.parse(bytes.toString("utf8", 4, 4 + body)) as M);
        bytes = bytes.subarray(4 + body);
      }
    } catch (thrown) {
      socket.destroy(thrown instanceof Error ? thrown : new Error(String(thrown)));
      return;
    }
    held = [bytes];
    length = bytes.length;
    wanted = bytes.length < 4 ? 4 : 4 + bytes.readUInt32BE(0);
  });
}
