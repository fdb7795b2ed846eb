import type { WebSocket } from "ws";
import type { Cancel, Clock, Millis } from "#lib/base/index.ts";

const pingEvery: Millis = 30_000;

/**
 * Pings the other end and calls `cut` when it has been silent for a minute. Returns how to stop.
 *
 * While messages wait here, an answer cannot be read; while sent ones wait at the other end, no ping arrives. TCP
 * keepalive then has to do.
 */
export function keepAlive(socket: WebSocket, clock: Clock, cut: () => void): Cancel {
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
