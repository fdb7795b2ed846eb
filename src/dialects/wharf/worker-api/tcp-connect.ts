import { connect } from "node:net";
import type { Connect } from "./worker-rest-client.ts";

/** Connects to `host:port` with TCP keep-alive. The signal only aborts connecting. */
export const tcpConnect =
  (address: string): Connect =>
  (signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const [, host = "", port = ""] = /^(.*):(\d+)$/.exec(address) ?? [];
      const socket = connect({
        host: host.replaceAll(/^\[|\]$/g, ""),
        port: Number(port),
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: 60_000,
      });
      const abort = (): void => void socket.destroy(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      socket.once("error", reject);
      socket.once("close", () => signal.removeEventListener("abort", abort));
      socket.once("connect", () => {
        signal.removeEventListener("abort", abort);
        socket.off("error", reject);
        resolve(socket);
      });
    });
