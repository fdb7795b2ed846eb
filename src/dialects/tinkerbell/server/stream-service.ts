import { type CallContext, type RpcService, service, workflowV2 } from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { agentKey } from "../state.ts";
import { allow, type Caller, checkedAgentID, type Identify, notValid } from "./caller.ts";
import { commandBytes } from "./commands.ts";
import type { Connection, Hello } from "./connection.ts";
import { eventIn } from "./event-message.ts";
import { helloIn } from "./hello.ts";

export interface StreamParts {
  readonly identify: Identify;
  readonly features: string;
  readonly connect: (connection: Connection) => () => void;
  /** Resolves when the event is durable or changes nothing. */
  readonly record: (id: string, event: AgentEvent, caller: Caller) => Promise<void>;
}

export function streamService({ identify, features, connect, record }: StreamParts): RpcService {
  return service(workflowV2.WorkflowService, {
    async getWorkflows({ agentId }, replies, call) {
      const agentID = checkedAgentID(agentId, "agent_id is empty");
      const caller = identify(call);
      allow(caller, agentID);
      const hello = { agentID, isIndividual: caller.isIndividual, ...helloIn(call) };
      // Immediately, because the first command may take days.
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

/** Never resolves: rejects with the status that ends the stream. */
const stay = (hello: Hello, call: CallContext, connect: StreamParts["connect"], send: Connection["send"]) =>
  new Promise<never>((_resolve, reject) => {
    let isOver = false;
    // An exception ends the stream.
    const disconnect = connect({
      ...hello,
      key: agentKey(hello.agentID),
      stopped: new Set(),
      isGreeted: false,
      send(command) {
        // A command lost now is sent again on reconnection.
        if (isOver) return;
        try {
          send(command);
        } catch (thrown) {
          // The stream is broken; keepalive ends it or the agent reconnects.
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
