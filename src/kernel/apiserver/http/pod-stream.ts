import { ApiError, badRequest, type KubeObject } from "#kernel/model/index.ts";
import { isJsonObject, type JsonObject, objectAt } from "#lib/base/index.ts";
import type { Interaction } from "#kernel/runtimes/index.ts";
import { scalarText } from "#kernel/specs/index.ts";
import type { ChannelSocket } from "#kernel/websocket/index.ts";
import { accessTo, authorize } from "../authz/authorizer.ts";
import { answerObject } from "../verbs/answer.ts";
import type { ApiContext } from "../verbs/context.ts";
import { getObject } from "../verbs/get.ts";
import type { WantedStreams } from "./command-session.ts";
import type { Exchange } from "./exchange.ts";
import { containerOf } from "./log-reply.ts";
import { commandOf, portsOf, streamRequest } from "./query.ts";
import type { ResourceCall } from "./route.ts";

interface PodStream {
  /** Carries the streams until they have ended; takes both sides over and never rejects. */
  carry(socket: ChannelSocket): Promise<void>;
  /** Closes everything when there is no connection to carry it over. */
  cancel(): void;
}

/** A valid request for a Pod that can serve it. */
interface AskedStream {
  readonly protocols: readonly string[];
  open(): Promise<PodStream>;
}

/** Refuses before the handshake, errors of the Pod first: kubectl retries any refusal with SPDY and prints that one. */
export async function openPodStream(
  context: ApiContext,
  { resource, route, verb }: ResourceCall,
  exchange: Exchange,
): Promise<void> {
  const { request, response, upgrade } = exchange;
  const websocket = await import("#kernel/websocket/index.ts");
  const pod = answerObject(await getObject(context, resource, route));
  const asked =
    route.subresource === "portforward"
      ? askedPorts(context, pod, exchange, websocket.portProtocols)
      : await askedCommand(context, pod, exchange, route.subresource, websocket.commandProtocols);
  if (upgrade === undefined || !websocket.asksForWebSocket(request.headers)) {
    throw webSocketNeeded(route.subresource, asked.protocols);
  }
  // More than a read: the permission of a POST is needed as well (decision 73).
  if (verb !== "create") authorize(context.authorizer, exchange.identity, accessTo(resource.type, "create", route));
  const problem = websocket.handshakeProblem(request);
  if (problem !== undefined) throw badRequest(problem);
  const offered = request.headers["sec-websocket-protocol"];
  const protocol = websocket.chooseProtocol(offered, asked.protocols);
  if (protocol === undefined) throw unknownProtocol(offered, asked.protocols);
  const stream = await asked.open();
  try {
    const socket = await websocket.acceptChannels({ request, ...upgrade }, protocol, context.clock);
    response.statusCode = 101;
    void stream.carry(socket);
  } catch (thrown) {
    stream.cancel();
    throw thrown;
  }
}

async function askedCommand(
  { podSessions }: ApiContext,
  pod: JsonObject,
  exchange: Exchange,
  subresource: string,
  protocols: readonly string[],
): Promise<AskedStream> {
  const request = streamRequest(exchange.query);
  const command = subresource === "exec" ? commandOf(exchange.query) : undefined;
  const asked = { ...request, container: defaultedContainer(pod, request.container) };
  const served = pod as unknown as KubeObject;
  await podSessions.check(served, asked, command === undefined ? "attach" : "exec");
  const start = () =>
    command === undefined ? podSessions.attach(served, asked) : podSessions.exec(served, command, asked);
  return { protocols, open: async () => carried(await start(), asked, exchange) };
}

async function carried(running: Interaction, wanted: WantedStreams, exchange: Exchange): Promise<PodStream> {
  const { runCommand } = await import("./command-session.ts");
  return {
    carry: (socket) => runCommand(socket, running, wanted, exchange.signal()),
    cancel() {
      running.kill();
      running.stdout.destroy();
      running.stderr?.destroy();
    },
  };
}

function askedPorts(
  { podSessions }: ApiContext,
  pod: JsonObject,
  exchange: Exchange,
  protocols: readonly string[],
): AskedStream {
  const phase = scalarText(objectAt(pod, "status")?.["phase"]);
  // kubectl's words.
  if (phase !== "Running")
    throw badRequest(`unable to forward port because pod is not running. Current status=${phase}`);
  const dial = (port: number, signal: AbortSignal) => podSessions.connect(pod as unknown as KubeObject, port, signal);
  const open = async () => {
    // SPDY clients name the ports later, over the connection.
    const ports = portsOf(exchange.query);
    const { forwardPorts } = await import("./port-session.ts");
    return {
      carry: (socket: ChannelSocket) => forwardPorts(socket, ports, dial, exchange.signal()),
      cancel: () => undefined,
    };
  };
  return { protocols, open };
}

/** kubectl prints the message. Its port-forward needs SPDY, even inside a WebSocket. */
const webSocketNeeded = (subresource: string, protocols: readonly string[]): ApiError =>
  new ApiError(
    "NotImplemented",
    `pods/${subresource} is served over WebSockets only, with the subprotocol ${protocols.join(" or ")}: ${
      subresource === "portforward"
        ? "kubectl does not speak it, clients in other languages do"
        : "a client that speaks them is needed, such as kubectl 1.30 or newer"
    }`,
  );

const unknownProtocol = (offered: string | undefined, ours: readonly string[]): ApiError =>
  badRequest(
    `none of the subprotocols ${JSON.stringify(offered ?? "")} is spoken here; expected one of: ${ours.join(", ")}`,
  );

/** The named container, the Pod's default one, or its only one. */
function defaultedContainer(pod: JsonObject, asked: string): string {
  if (asked !== "") return containerOf(pod, asked);
  const { metadata } = pod;
  const annotations = isJsonObject(metadata) ? metadata["annotations"] : undefined;
  const named = isJsonObject(annotations) ? annotations["kubectl.kubernetes.io/default-container"] : undefined;
  return containerOf(pod, typeof named === "string" ? named : "");
}
