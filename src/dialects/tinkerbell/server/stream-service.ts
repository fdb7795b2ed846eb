import { type CallContext, type RpcService, service, workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { agentKey } from "../state.ts";
import { allow, type Caller, checkedAgentID, type Identify, notValid } from "./caller.ts";
import { commandBytes } from "./commands.ts";
import type { Connection, Hello } from "./connections.ts";
import { eventIn } from "./event-message.ts";
import { helloIn } from "./hello.ts";

/** What the command stream and its events are made of. */
export interface StreamParts {
  readonly identify: Identify;
  /** What Slipway's own agent may use besides the interface, told when its stream opens. */
  readonly features: string;
  /** An agent has come; it is connected until the answered function is called. */
  readonly connect: (connection: Connection) => () => void;
  /** Resolves when the event is durable, or changes nothing. */
  readonly record: (id: string, event: AgentEvent, caller: Caller) => Promise<void>;
}

/** The command stream of the proposal, with what Slipway's own agent says besides. */
export function streamService({ identify, features, connect, record }: StreamParts): RpcService {
  return service(workflowV2.WorkflowService, {
    async getWorkflows({ agentId }, replies, call) {
      const agentID = checkedAgentID(agentId, "agent_id is empty");
      const caller = identify(call);
      allow(caller, agentID);
      const hello = { agentID, isIndividual: caller.isIndividual, ...helloIn(call) };
      // At once, and not with the first command, which may be days away: the agent learns that it is connected.
      call.sendHeaders({ "x-slipway-features": features });
      await stay(hello, call, whileAllowed(connect, caller), (command) => replies.sendBytes(commandBytes(command)));
    },
    async publishEvent({ event }, call) {
      const [id, told] = eventIn(event);
      await record(id, told, identify(call));
      return {};
    },
  });
}

/** A proof that is taken back ends the stream that it has opened. */
const whileAllowed =
  (connect: StreamParts["connect"], caller: Caller): StreamParts["connect"] =>
  (connection) => {
    const disconnect = connect(connection);
    const leave = caller.onChange(() => {
      if (!caller.isAgent(connection.agentID)) connection.end(notValid());
    });
    return () => {
      leave();
      disconnect();
    };
  };

/**
 * Holds the stream open. Never resolves, because streams do not end well: it rejects with the status to end with, which is that of a newer stream, of the
 * listener that closes, or that the agent has gone.
 */
const stay = (hello: Hello, call: CallContext, connect: StreamParts["connect"], send: Connection["send"]) =>
  new Promise<never>((_resolve, reject) => {
    let isOver = false;
    // What it throws is what the stream ends with.
    const disconnect = connect({
      ...hello,
      key: agentKey(hello.agentID),
      stopped: new Set(),
      isGreeted: false,
      send(command) {
        // What an agent misses that goes in this moment, it is told when it comes back.
        if (isOver) return;
        try {
          send(command);
        } catch (thrown) {
          // It takes nothing any more; by itself it comes back, or its keepalive ends it.
          reject(thrown);
        }
      },
      end: reject,
    });
    call.onEnd((reason) => {
      isOver = true;
      disconnect();
      reject(reason);
    });
  });
