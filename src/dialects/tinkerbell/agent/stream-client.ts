import { deferred, type JsonObject, type Millis } from "#lib/base/index.ts";
import { RpcChannel, type RpcChannelOptions, RpcError, type StatusName, workflowV2 } from "#kernel/rpc/index.ts";
import type { Answer } from "./agent-state.ts";
import type { AgentConnection, AgentServer, Command } from "./connection.ts";
import { logFeaturesIn, logSink } from "./log-sink.ts";
import { decodeCommand, encodeEvent, formatResumed } from "./wire.ts";

export interface StreamClientOptions {
  readonly agentId: string;
  /** Tells a restarted process from a lost connection. */
  readonly instance: string;
  readonly version?: string;
  readonly runtime?: string;
  /** Asked for each connection, because disks and links change. */
  readonly attributes?: () => Promise<JsonObject>;
  /** Asked for each connection, the channel first, so that servers, certificates and tokens can be replaced. */
  readonly channel: (signal: AbortSignal) => Promise<RpcChannelOptions>;
  readonly token: () => Promise<string | undefined>;
}

/** For an answer to an event; longer than a server tries to store one. */
const answerLimit: Millis = 30_000;

const { getWorkflows, publishEvent } = workflowV2.WorkflowService.method;

/** Speaks the command stream. Slipway's additions are headers, which other servers ignore. */
export const streamClient = (options: StreamClientOptions): AgentServer => ({
  async connect(resumed, signal): Promise<AgentConnection> {
    const to = await options.channel(signal);
    const [token, attributes] = await Promise.all([options.token(), options.attributes?.()]);
    const identity: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const channel = await RpcChannel.open(to, signal);
    const closed = new AbortController();
    const hello = {
      ...identity,
      // Ignored by servers that do not know these headers.
      "x-slipway-instance": options.instance,
      "x-slipway-version": options.version ?? [],
      "x-slipway-runtime": options.runtime ?? [],
      "x-slipway-resume": resumed.map(formatResumed),
      "x-slipway-attributes-bin": attributes === undefined ? [] : Buffer.from(JSON.stringify(attributes)),
    };
    const features = deferred<string>();
    const request = { agentId: options.agentId };
    // Opened by the first read, which follows at once.
    const messages = channel.stream(getWorkflows, request, {
      headers: hello,
      signal: closed.signal,
      onHeaders: (header) => features.resolve(header("x-slipway-features")),
    });
    return {
      logs: features.promise.then((text) => {
        const taken = logFeaturesIn(text);
        return taken && logSink(channel, identity, taken);
      }),
      commands: commandsOf(messages),
      async publish(workflow, event, until) {
        try {
          const message = { event: encodeEvent(workflow, event) };
          await channel.call(publishEvent, message, { headers: identity, signal: until, timeout: answerLimit });
          return "ok";
        } catch (thrown) {
          return answerTo(thrown);
        }
      },
      close() {
        // First, so that the stream ends as canceled and not as broken.
        closed.abort();
        channel.close();
      },
    };
  },
});

/** Answers that would not change; others are retried. */
const final: ReadonlySet<StatusName> = new Set(["INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"]);

function answerTo(thrown: unknown): Answer {
  if (thrown instanceof RpcError && final.has(thrown.code)) return "refused";
  throw thrown;
}

/** Unknown commands of newer servers are ignored. */
async function* commandsOf(messages: AsyncIterable<Parameters<typeof decodeCommand>[0]>): AsyncGenerator<Command> {
  for await (const message of messages) {
    const command = decodeCommand(message);
    if (command !== undefined) yield command;
  }
}
