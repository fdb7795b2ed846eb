import type { Socket } from "node:net";
import type { RuntimeCapabilities, Task, TaskStatus } from "../contract.ts";
import { frameTooLong } from "../errors.ts";

/** Changes whenever a message changes its meaning. Both ends are started from the same release, unless one outlived an upgrade. */
export const protocolVersion = 1;

/**
 * What a server asks of its runner. `seq` pairs the answer: it ascends on a connection, answers come in any order. Every request
 * may be repeated, on the same connection or the next one, without changing what the first has done.
 */
export type Request =
  | { readonly seq: number; readonly op: "hello"; readonly protocol: number }
  | { readonly seq: number; readonly op: "capabilities" }
  | { readonly seq: number; readonly op: "start"; readonly task: Task }
  | { readonly seq: number; readonly op: "stop"; readonly id: string; readonly graceMs: number }
  | { readonly seq: number; readonly op: "remove"; readonly ids: readonly string[] }
  | { readonly seq: number; readonly op: "release"; readonly stopTasksMs?: number };

/** The answer to hello: whoever gets it owns the runner from now on, and hears of every change after these statuses. */
export interface Hello {
  /** The runner's own version. Another one than ours means that nothing else it says can be relied upon. */
  readonly protocol: number;
  readonly tasks: readonly TaskStatus[];
}

/** What a runner says. `null` is the answer to what has no result. */
export type Message =
  | { readonly seq: number; readonly value: Hello | RuntimeCapabilities | TaskStatus | null }
  /** The request was refused or failed; a sentence. */
  | { readonly seq: number; readonly error: string }
  /** A change that is durable. Sent to the owner only. */
  | { readonly event: "task"; readonly status: TaskStatus }
  /** Another server said hello; this connection is closed. */
  | { readonly event: "replaced" };

/** A task with its environment fits many times: Linux takes 2 MiB of both together. Bounds what a reader holds. */
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
 * Calls `receive` for every message that arrives, in order. One that is too long or no JSON destroys the socket with the error.
 * The other end is this same program, behind a socket that only its user can open: the shape of messages is taken as given.
 * Pieces are joined once per message, not once per piece, so that a long one costs no more than its length.
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
