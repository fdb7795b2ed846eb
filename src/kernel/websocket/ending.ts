import type { WebSocket } from "ws";
import { type Clock, deferred } from "#lib/base/index.ts";
import { keepAlive } from "./keep-alive.ts";

/** RFC 6455, 7.4.1: 1000 as agreed, 1001 one side stops, 1006 it broke. */
export interface Ending {
  readonly code: number;
  readonly reason: string;
}

/** Resolves with the end of the connection, whatever the reason. It is pinged until then, and cut if it is silent. */
export function endOf(socket: WebSocket, clock: Clock): Promise<Ending> {
  const ended = deferred<Ending>();
  // The connection's end is reported instead.
  socket.on("error", () => undefined);
  const stop = keepAlive(socket, clock, () => socket.terminate());
  socket.once("close", (code, reason) => {
    stop();
    ended.resolve({ code, reason: reason.toString("utf8") });
  });
  return ended.promise;
}

/** RFC 6455, 5.5: 125 bytes including two of the code. */
const longestReason = 123;

/** The reason as far as it fits a frame. */
export function cutReason(reason: string): string {
  let text = reason.slice(0, longestReason);
  while (Buffer.byteLength(text) > longestReason) text = text.slice(0, -1);
  return text;
}
