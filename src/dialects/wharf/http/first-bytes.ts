import type { Socket } from "node:net";
import { afterAwake, type Clock, type Millis } from "#lib/base/index.ts";

/** What somebody speaks. Whatever is not the beginning of HTTP/2 is the business of HTTP/1.1, which refuses what it is not. */
export type Protocol = "http1" | "http2";

/** RFC 9113 3.4: what a client of HTTP/2 says first. Its first line is enough: no other protocol begins so. */
const preface = Buffer.from("PRI * HTTP/2.0");

/**
 * Calls `decide` once, when the first bytes are there; they are still to be read from the socket then. A connection that has not said enough
 * after `limit`, or ends before it, is destroyed.
 */
export function readFirstBytes(
  socket: Socket,
  clock: Clock,
  limit: Millis,
  decide: (protocol: Protocol) => void,
): void {
  let seen = Buffer.alloc(0);
  const giveUp = (): void => void socket.destroy();
  // What it has said while we stood still is seen first.
  const cancel = afterAwake(clock, limit, giveUp);
  const look = (): void => {
    const more: Buffer | null = socket.read();
    if (more !== null) seen = Buffer.concat([seen, more]);
    if (seen.length === 0) return;
    const compared = Math.min(seen.length, preface.length);
    const isSame = seen.subarray(0, compared).equals(preface.subarray(0, compared));
    if (isSame && compared < preface.length) return;
    leave();
    socket.unshift(seen);
    decide(isSame ? "http2" : "http1");
  };
  const leave = (): void => {
    cancel();
    socket.off("readable", look).off("end", giveUp).off("close", leave);
  };
  socket.on("readable", look).on("end", giveUp).on("close", leave);
  look();
}
