import type { WebSocket } from "ws";
import { type Clock, deferred, type Cancel, type Millis } from "#lib/base/index.ts";

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

const pingEvery: Millis = 30_000;

/**
 * Pings the other end and calls `cut` when it has been silent for a minute. Returns how to stop.
 *
 * While messages wait here, an answer cannot be read; while sent ones wait at the other end, no ping arrives. TCP
 * keepalive then has to do.
 */
function keepAlive(socket: WebSocket, clock: Clock, cut: () => void): Cancel {
  let isAnswered = true;
  socket.on("pong", () => (isAnswered = true));
  const ping = (): void => {
    if (socket.readyState !== socket.OPEN) return;
    const mayBeLate = socket.isPaused || socket.bufferedAmount > 0;
    if (!isAnswered && !mayBeLate) return cut();
    isAnswered = mayBeLate;
    socket.ping();
    next = clock.after(pingEvery, ping);
  };
  let next = clock.after(pingEvery, ping);
  return () => next();
}
