import { messageOf } from "#lib/base/index.ts";
import type { Container, Handler, PortReference } from "../pod-types.ts";
import { knockByGrpc } from "./knock-by-grpc.ts";
import type { ContainerReach, RunningContainer } from "./container-reach.ts";

/** What an attempt to reach a container came to. `message` says in the kubelet's words what was wrong. */
export type Knock = { readonly succeeded: true } | { readonly succeeded: false; readonly message: string };

const success: Knock = { succeeded: true };
const failure = (message: string): Knock => ({ succeeded: false, message });

/** Of an HTTP answer this much is told. */
const keptBody = 1_024;

/**
 * Carries out the action of a probe or hook: `exec` succeeds with code 0, `httpGet` with an answer from 200 to 399 (redirects are not
 * followed), `tcpSocket` with a connection, `grpc` when the service says that it serves. Never rejects but for an abort: time-outs are the caller's, by the signal.
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

// Node's network modules are loaded by the first probe: most commands never need them.

/**
 * Certificates are not checked, as the kubelet does not: the question is whether something answers. The body is read to its end
 * and mostly dropped, so that the connection closes cleanly.
 */
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

/** Headers of the document win over our own, `Host` among them. */
const headersOf = ({ httpHeaders }: NonNullable<Handler["httpGet"]>): Readonly<Record<string, string>> =>
  Object.fromEntries((httpHeaders ?? []).map(({ name, value }) => [name.toLowerCase(), value]));

/** A connection is all that is asked for: nothing is sent. */
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

/** Names are those of the container's ports; numbers may be written as texts. */
export function portNumber(reference: PortReference, container: Container): number | undefined {
  if (typeof reference === "number") return reference;
  const named = (container.ports ?? []).find(({ name }) => name === reference)?.containerPort;
  return named ?? (/^\d+$/.test(reference) ? Number(reference) : undefined);
}
