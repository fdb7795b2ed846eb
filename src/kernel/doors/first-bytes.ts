import type { Socket } from "node:net";
import { afterAwake, type Clock, type Millis } from "#lib/base/index.ts";

export type Protocol = "http1" | "http2";

/** RFC 9113 3.4. No other protocol begins like this. */
const preface = Buffer.from("PRI * HTTP/2.0");

interface Limits {
  /** Until the first byte. */
  readonly idleMs: Millis;
  /** From the first byte on. */
  readonly headersMs: Millis;
}

/** Calls `decide` with the protocol; the bytes stay in the socket. Destroys connections beyond a limit. */
export function readFirstBytes(
  socket: Socket,
  clock: Clock,
  { idleMs, headersMs }: Limits,
  decide: (protocol: Protocol) => void,
): void {
  let seen = Buffer.alloc(0);
  const giveUp = (): void => void socket.destroy();
  // Pending bytes are read before the timeout counts.
  let cancel = afterAwake(clock, idleMs, giveUp);
  const look = (): void => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    if (seen.length === 0) {
      cancel();
      cancel = afterAwake(clock, headersMs, giveUp);
    }
    seen = Buffer.concat([seen, more]);
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
