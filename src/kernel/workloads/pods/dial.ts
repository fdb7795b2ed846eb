import { connect, type Socket } from "node:net";
import { messageOf, onAbort } from "#lib/base/index.ts";

/** Connects by TCP. Rejects with the address and the system's error, or with the signal's reason. */
export function dial(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const settle = onAbort(signal, () => void socket.destroy(signal.reason as Error));
    socket.once("connect", () => {
      settle();
      resolve(socket);
    });
    socket.once("error", (cause) => {
      settle();
      reject(
        signal.aborted ? (signal.reason as Error) : new Error(`cannot connect to ${host}:${port}: ${messageOf(cause)}`),
      );
    });
  });
}
