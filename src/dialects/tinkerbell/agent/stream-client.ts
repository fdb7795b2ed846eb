import { deferred, type JsonObject, type Millis } from "#lib/base/index.ts";
import { RpcChannel, type RpcChannelOptions, RpcError, type StatusName, workflowV2 } from "#kernel/rpc/index.ts";
import type { Answer } from "./agent-state.ts";
import type { AgentConnection, AgentServer, Command } from "./connection.ts";
import { logFeaturesIn, logSink } from "./log-sink.ts";
import { decodeCommand, encodeEvent, formatResumed } from "./wire.ts";

export interface StreamClientOptions {
  readonly agentId: string;
  /** Of this process: a server tells one that has begun anew from one that has only lost its connection. */
  readonly instance: string;
  /** Of this program, and where actions run: for people who look at the agent. */
  readonly version?: string;
  readonly runtime?: string;
  /** What this machine is, asked for each connection: links and disks come and go. */
  readonly attributes?: () => Promise<JsonObject>;
  /** Asked for each connection, the channel first, so that servers, certificates and tokens may be replaced. */
  readonly channel: (signal: AbortSignal) => Promise<RpcChannelOptions>;
  readonly token: () => Promise<string | undefined>;
}

/** For an answer to an event: longer than a server tries to store one. */
const answerLimit: Millis = 30_000;

const { getWorkflows, publishEvent } = workflowV2.WorkflowService.method;

/** A server reached by the command stream, with what Slipway's own agents say besides in headers; others do not look at those. */
export const streamClient = (options: StreamClientOptions): AgentServer => ({
  async connect(resumed, signal): Promise<AgentConnection> {
    const to = await options.channel(signal);
    const [token, attributes] = await Promise.all([options.token(), options.attributes?.()]);
    const identity: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const channel = await RpcChannel.open(to, signal);
    const closed = new AbortController();
    const hello = {
      ...identity,
      // What a server that does not know these headers takes for nothing, so that one agent serves all of them.
      "x-slipway-instance": options.instance,
      "x-slipway-version": options.version ?? [],
      "x-slipway-runtime": options.runtime ?? [],
      "x-slipway-resume": resumed.map(formatResumed),
      "x-slipway-attributes-bin": attributes === undefined ? [] : Buffer.from(JSON.stringify(attributes)),
    };
    const features = deferred<string>();
    const request = { agentId: options.agentId };
    // Opened when it is first read from, which is at once.
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
        // The stream first, so that it ends as one that was left and not as one that broke.
        closed.abort();
        channel.close();
      },
    };
  },
});

/** Saying it again would be answered the same. Who is not let in, or does not reach the server, tries again: that may pass. */
const final: ReadonlySet<StatusName> = new Set(["INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION"]);

function answerTo(thrown: unknown): Answer {
  if (thrown instanceof RpcError && final.has(thrown.code)) return "refused";
  throw thrown;
}

/** What is no command to this release is passed over: a newer server may say more, and has to bear that it is not heard. */
async function* commandsOf(messages: AsyncIterable<Parameters<typeof decodeCommand>[0]>): AsyncGenerator<Command> {
  for await (const message of messages) {
    const command = decodeCommand(message);
    if (command !== undefined) yield command;
  }
}
