import { messageOf } from "#lib/base/index.ts";
import type { Container, Handler, PortReference } from "../pod-types.ts";
import { knockByGrpc } from "./knock-by-grpc.ts";
import type { ContainerReach, Knock, RunningContainer } from "./container-reach.ts";

const success: Knock = { succeeded: true };
const failure = (message: string): Knock => ({ succeeded: false, message });
const keptBody = 1_024;

/**
 * Runs a probe or hook: `exec` succeeds with code 0, `httpGet` with 200 to 399 (redirects are not followed),
 * `tcpSocket` with a connection, `grpc` if the service is serving. Rejects only with the signal's reason.
 */
export async function knock(
  handler: Handler,
  target: RunningContainer,
  reach: ContainerReach,
  signal: AbortSignal,
): Promise<Knock> {
  const address = reach.addressOf(target.pod);
  try {
    if (handler.exec !== undefined) {
      const { code, output } = await reach.exec(target, handler.exec.command ?? [], signal);
      return code === 0 ? success : failure(output.trim() || `command ended with code ${code}`);
    }
    const { container } = target;
    if (address === undefined) return failure("the pod has no network now");
    if (handler.httpGet !== undefined) return await knockByHttp(handler.httpGet, container, address, signal);
    if (handler.tcpSocket !== undefined) return await knockByTcp(handler.tcpSocket, container, address, signal);
    if (handler.grpc !== undefined) return await knockByGrpc(handler.grpc, address, signal);
    return failure(`an action of type ${Object.keys(handler).join(", ")} is not supported`);
  } catch (thrown) {
    signal.throwIfAborted();
    return failure(messageOf(thrown));
  }
}

// The first probe loads Node's network modules: most commands never need them.

/** Certificates are not verified, as by the kubelet. The body is read so that the connection closes cleanly. */
async function knockByHttp(
  action: NonNullable<Handler["httpGet"]>,
  container: Container,
  address: string,
  signal: AbortSignal,
): Promise<Knock> {
  const port = portNumber(action.port, container);
  if (port === undefined) return failure(`container has no port named "${action.port}"`);
  const isSecure = action.scheme?.toUpperCase() === "HTTPS";
  const path = action.path ?? "/";
  const { request: send } = isSecure ? await import("node:https") : await import("node:http");
  return new Promise((resolve, reject) => {
    const request = send(
      {
        host: action.host || address,
        port,
        path: path.startsWith("/") ? path : `/${path}`,
        headers: { "user-agent": "kube-probe/1.33", accept: "*/*", ...headersOf(action) },
        agent: false,
        signal,
        ...(isSecure ? { rejectUnauthorized: false } : {}),
      },
      (response) => {
        const { statusCode = 0 } = response;
        let body = "";
        response.on("data", (chunk: Buffer) => {
          if (body.length < keptBody) body += chunk.toString("latin1");
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve(
            statusCode >= 200 && statusCode < 400
              ? success
              : failure(`HTTP probe failed with statuscode: ${statusCode}`),
          ),
        );
      },
    );
    request.on("error", reject);
    request.end();
  });
}

const headersOf = ({ httpHeaders }: NonNullable<Handler["httpGet"]>): Readonly<Record<string, string>> =>
  Object.fromEntries((httpHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]));

async function knockByTcp(
  action: NonNullable<Handler["tcpSocket"]>,
  container: Container,
  address: string,
  signal: AbortSignal,
): Promise<Knock> {
  const port = portNumber(action.port, container);
  if (port === undefined) return failure(`container has no port named "${action.port}"`);
  const { connect } = await import("node:net");
  return new Promise((resolve, reject) => {
    const socket = connect({ host: action.host || address, port, signal });
    socket.once("connect", () => {
      socket.destroy();
      resolve(success);
    });
    socket.once("error", reject);
  });
}

export function portNumber(reference: PortReference, container: Container): number | undefined {
  if (typeof reference === "number") return reference;
  const named = (container.ports ?? []).find(({ name }) => name === reference)?.containerPort;
  return named ?? (/^\d+$/.test(reference) ? Number(reference) : undefined);
}
