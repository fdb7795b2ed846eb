import { isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { tcpConnect } from "../worker-api/tcp-connect.ts";
import type { Connect } from "../worker-api/worker-rest-client.ts";

/** TLS for https addresses. */
export function connectToService(url: string): Connect {
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "https:";
  const connect = tcpConnect(`${hostname}:${port === "" ? (isSecure ? 443 : 80) : port}`);
  if (!isSecure) return connect;
  return async (signal) => {
    const socket = await connect(signal);
    const host = hostname.replaceAll(/^\[|\]$/g, "");
    // IP addresses have no server name.
    const name = isIP(host) === 0 ? { servername: host } : {};
    return await new Promise((resolve, reject) => {
      const secured = connectTls({ socket, host, ...name, ALPNProtocols: ["h2"] });
      const abort = (): void => void secured.destroy(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      secured.once("error", reject);
      secured.once("close", () => signal.removeEventListener("abort", abort));
      secured.once("secureConnect", () => {
        signal.removeEventListener("abort", abort);
        secured.off("error", reject);
        resolve(secured);
      });
    });
  };
}
