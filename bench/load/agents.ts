import { seededRandom } from "#kernel/kit/testing/index.ts";
import type { IncomingHttpHeaders } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as openSession } from "node:http2";
import { connect as openSocket, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as openTls, createSecureContext } from "node:tls";
import { retryDelay } from "#dialects/tinkerbell/agent/backoff.ts";
import { create, fromBinary, type MessageInitShape, toBinary, workflowV2 } from "#kernel/rpc/index.ts";
import { monotonicMs, type PacedWrites } from "../harness/open-loop.ts";
import { agentName, requireFiles } from "../ours/agents.ts";
import { awaitDeliveries } from "./deliveries.ts";

// B5: agents, each on a connection of its own, as bare sessions of HTTP/2. They come back as Slipway's agent does, after a while that grows
// and differs, and report both events of every action.

const { GetWorkflowsRequestSchema, GetWorkflowsResponseSchema, PublishEventRequestSchema } = workflowV2;

/** What one agent was told to do. */
interface Told {
  readonly agent: LoadAgent;
  readonly id: string;
  readonly actions: readonly string[];
}

const state = {
  delivered: 0,
  failure: undefined as Error | undefined,
  noted: [] as { readonly at: number; readonly index: number }[],
  told: [] as Told[],
  reports: [] as Promise<number>[],
  isAnsweringAtOnce: false,
  connected: 0,
  /** When the last one that was missing had come. */
  completeAt: 0,
};
const agents: LoadAgent[] = [];
const random = seededRandom(1);

export interface Connect {
  readonly port: number;
  readonly isTls: boolean;
  /** The agents from this one on. */
  readonly from: number;
  readonly count: number;
  /** Reports as soon as it is told, and not when it is asked to. */
  readonly isAnsweringAtOnce: boolean;
}

/** How many begin to connect at once, at first: a restart is another thing. */
const together = 32;

export async function connect({ port, isTls, from, count, isAnsweringAtOnce }: Connect): Promise<void> {
  requireFiles(count);
  state.isAnsweringAtOnce = isAnsweringAtOnce;
  const authority = `${isTls ? "https" : "http"}://127.0.0.1:${port}`;
  for (let at = 0; at < count; at++) {
    agents.push(new LoadAgent(authority, from + at, at));
    while (agents.length - state.connected > together) await sleep(1);
  }
  await allConnected();
}

/** Resolves when every agent is connected, with the time at which the last one was; the clock is that of all processes here. */
export async function allConnected(): Promise<number> {
  while (state.connected < agents.length) await sleep(2);
  return state.completeAt;
}

/** Resolves when none is. */
export async function allLost(): Promise<void> {
  while (state.connected > 0) await sleep(2);
}

/** One for all, as each agent makes one for itself: five thousand of them would be this process's affair and not the server's. */
const secureContext = createSecureContext();
const alpn = { ALPNProtocols: ["h2"], rejectUnauthorized: false };

class LoadAgent {
  /** In order of all agents of the server. */
  readonly #index: number;
  readonly #count: number;
  readonly #authority: string;
  #session: ClientHttp2Session | undefined;
  #failures = 0;

  constructor(authority: string, index: number, before: number) {
    this.#authority = authority;
    this.#index = index;
    this.#count = before + 1;
    this.#open();
  }

  /** TCP first: while the server is down, tries cost this machine next to nothing, as if it were another one. */
  #open(): void {
    const { hostname, port, protocol } = new URL(this.#authority);
    const socket = openSocket({ host: hostname, port: Number(port), noDelay: true });
    socket.once("error", () => undefined); // What follows is its close.
    socket.once("close", this.#again);
    socket.once("connect", () => {
      socket.off("close", this.#again);
      this.#begin(protocol === "https:" ? openTls({ socket, secureContext, ...alpn }) : socket);
    });
  }

  readonly #again = (): void => {
    this.#failures++;
    setTimeout(() => this.#open(), retryDelay(this.#failures, random));
  };

  #begin(socket: Socket): void {
    const session = openSession(this.#authority, { createConnection: () => socket, settings: { enablePush: false } });
    this.#session = session;
    let isHere = false;
    session.on("error", () => undefined); // What follows is its close.
    session.on("close", () => {
      if (isHere) {
        state.connected--;
        this.#failures = 0;
      }
      this.#again();
    });
    const stream = this.#request(
      "GetWorkflows",
      toBinary(GetWorkflowsRequestSchema, create(GetWorkflowsRequestSchema, { agentId: agentName(this.#index) })),
    );
    stream.on("error", () => undefined); // Of the session, too.
    stream.on("response", () => {
      isHere = true;
      state.connected++;
      if (state.connected >= this.#count) state.completeAt = monotonicMs();
    });
    follow(stream, (message) => this.#take(message));
    stream.on("close", () => session.destroy());
  }

  #take(bytes: Buffer): void {
    const { cmd } = fromBinary(GetWorkflowsResponseSchema, bytes);
    const { workflowId: id = "", actions = [] } = (cmd.case === "startWorkflow" && cmd.value.workflow) || {};
    const [, index = ""] = /^default\/w-(\d+)\//.exec(id) ?? [];
    if (index === "") state.failure ??= new Error(`agent ${this.#index} was told ${cmd.case}`);
    state.noted.push({ at: monotonicMs(), index: Number(index) });
    state.delivered++;
    const told = { agent: this, id, actions: actions.map((action) => action.id) };
    if (state.isAnsweringAtOnce) state.reports.push(report(told));
    else state.told.push(told);
  }

  /** Resolves when the event was answered with OK. */
  publish(event: NonNullable<MessageInitShape<typeof PublishEventRequestSchema>["event"]>): Promise<void> {
    const bytes = toBinary(PublishEventRequestSchema, create(PublishEventRequestSchema, { event }));
    const stream = this.#request("PublishEvent", bytes);
    return new Promise((resolve, reject) => {
      const judge = (headers: IncomingHttpHeaders): void => {
        const status = headers["grpc-status"]?.toString();
        if (status === "0") resolve();
        else if (status !== undefined)
          reject(new Error(`an event was answered with ${status}: ${headers["grpc-message"]?.toString()}`));
      };
      stream.on("response", judge).on("trailers", judge).on("error", reject).resume();
    });
  }

  #request(method: string, message: Uint8Array): ClientHttp2Stream {
    if (this.#session === undefined) throw new Error("not connected");
    const stream = this.#session.request({
      ":method": "POST",
      ":path": `/${workflowV2.WorkflowService.typeName}/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([head, message]));
    return stream;
  }
}

/** Messages as they come: a byte, their length, their bytes. */
function follow(stream: ClientHttp2Stream, take: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  stream.on("data", (part: Buffer) => {
    rest = rest.length === 0 ? part : Buffer.concat([rest, part]);
    while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
      const end = 5 + rest.readUInt32BE(1);
      take(rest.subarray(5, end));
      rest = rest.subarray(end);
    }
  });
}

async function report({ agent, id, actions }: Told): Promise<number> {
  for (const actionId of actions) {
    await agent.publish({ workflowId: id, event: { case: "actionStarted", value: { actionId } } });
    await agent.publish({ workflowId: id, event: { case: "actionSucceeded", value: { actionId } } });
  }
  return 2 * actions.length;
}

export const delivery = ({ expected }: { readonly expected: number }): Promise<void> =>
  awaitDeliveries(state, expected);

/** How long after the moment at which its workflow was due each agent was told. */
export function latencies({ startMs, first, perSecond }: PacedWrites & { readonly perSecond: number }) {
  const seen = new Set(state.noted.map(({ index }) => index));
  if (seen.size !== state.noted.length) throw new Error("a workflow was told twice");
  return state.noted.splice(0).map(({ at, index }) => at - startMs - ((index - first) * 1000) / perSecond);
}

/** Everything that was told is reported, each agent one thing after the other; answers how many events were acknowledged. */
export async function reportAll(): Promise<number> {
  const counts = await Promise.all([...state.reports.splice(0), ...state.told.splice(0).map(report)]);
  return counts.reduce((sum, count) => sum + count, 0);
}
