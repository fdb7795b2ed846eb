import type { Socket } from "node:net";
import { afterAwake, type Clock, type Millis } from "#lib/base/index.ts";

export type Protocol = "http1" | "http2";

/** RFC 9113 3.4. No other protocol begins like this. */
const preface = Buffer.from("PRI * HTTP/2.0");

/** Calls `decide` with the protocol; the bytes stay in the socket. Destroys connections that send too little within
 * `limit`. */
export function readFirstBytes(
  socket: Socket,
  clock: Clock,
  limit: Millis,
  decide: (protocol: Protocol) => void,
): void {
  let seen = Buffer.alloc(0);
  const giveUp = (): void => void socket.destroy();
  // Pending bytes are read before the timeout counts.
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
