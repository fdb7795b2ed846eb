import {
  type CallContext,
  type RpcService,
  service,
  workflowV2,
  type MessageShape,
  RpcError,
} from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { agentKey } from "../state.ts";
import { allow, type Caller, checkedAgentID, type Identify, notValid } from "./caller.ts";
import { commandBytes } from "./commands.ts";
import type { Connection, Hello } from "./connection.ts";
import { toldFailure, toldRejection } from "./told-failure.ts";
import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { present } from "../members.ts";
import type { Resumed } from "../reconnect.ts";

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

type EventMessage = MessageShape<typeof workflowV2.EventSchema>;

/** Field names of the protocol, for messages about missing ones. */
const fieldNames = {
  actionStarted: "action_started",
  actionSucceeded: "action_succeeded",
  actionFailed: "action_failed",
} as const;

/** Both are optional in the protocol. */
const untold = { reason: "RuntimeError", message: "the agent reported a failure without details" };

const missing = (field: string): RpcError => new RpcError("INVALID_ARGUMENT", `${field} is empty`);

/** An event and its workflow's id. INVALID_ARGUMENT names a missing field. */
function eventIn(message: EventMessage | undefined): readonly [string, AgentEvent] {
  if (message === undefined) throw missing("event");
  const { workflowId, event } = message;
  if (workflowId === "") throw missing("event.workflow_id");
  if (event.case === undefined) throw missing("event.event");
  if (event.case === "workflowRejected") {
    const { failureReason = "", failureMessage } = event.value;
    return [workflowId, { is: "rejected", ...toldRejection(failureReason, failureMessage) }];
  }
  const action = event.value.actionId;
  if (action === "") throw missing(`event.${fieldNames[event.case]}.action_id`);
  if (event.case === "actionStarted") return [workflowId, { is: "started", action }];
  if (event.case === "actionSucceeded") return [workflowId, { is: "succeeded", action }];
  const { failureReason = "", failureMessage = "" } = event.value;
  return [workflowId, { is: "failed", action, ...toldFailure(failureReason, failureMessage, untold) }];
}

// Headers of a Slipway agent's stream. A malformed one is an error, because ignoring it would count as a restart.

const instanceHeader = "x-slipway-instance";
const resumeHeader = "x-slipway-resume";
const versionHeader = "x-slipway-version";
const runtimeHeader = "x-slipway-runtime";
const attributesHeader = "x-slipway-attributes-bin";

/** Bytes of all values of a text header. */
const maxHeader = 8192;
/** Stored in every workflow that the agent is sent. */
const maxInstance = 256;
const maxWord = 100;
/** Bytes; stored in the Agent object. */
const maxAttributes = 65_536;

/** Throws INVALID_ARGUMENT for malformed headers. */
function helloIn(call: CallContext): Omit<Hello, "agentID" | "isIndividual"> {
  const instance = headerOf(call, instanceHeader, maxInstance);
  const version = headerOf(call, versionHeader, maxWord);
  const runtime = headerOf(call, runtimeHeader, maxWord);
  return {
    resumed: resumedIn(headerOf(call, resumeHeader)),
    ...(instance === "" ? {} : { instance }),
    ...(version === "" ? {} : { version }),
    ...(runtime === "" ? {} : { runtime }),
    ...present({ attributes: attributesIn(call.binary(attributesHeader)[0]) }),
  };
}

function headerOf(call: CallContext, name: string, max = maxHeader): string {
  const text = call.header(name);
  if (text.length > max) throw new RpcError("INVALID_ARGUMENT", `${name} is longer than ${max} bytes`);
  return text;
}

/** `<workflow_id>;action=<id>;state=running`: ids hold neither semicolons nor commas. */
const resumption = /^([^;,]+);action=([^;,]*);state=(running|interrupted)$/;

const none: ReadonlyMap<string, Exclude<Resumed, "none">> = new Map();

/** Repeated headers arrive joined by commas. The action is not needed: the stored state has it. */
function resumedIn(text: string): ReadonlyMap<string, Exclude<Resumed, "none">> {
  if (text === "") return none;
  const resumed = new Map<string, Exclude<Resumed, "none">>();
  for (const part of text.split(",").filter((each) => each.trim() !== "")) {
    const [, id = "", , state] = resumption.exec(part.trim()) ?? [];
    if (state !== "running" && state !== "interrupted")
      throw new RpcError(
        "INVALID_ARGUMENT",
        `${resumeHeader} is not <workflow_id>;action=<id>;state=running|interrupted`,
      );
    resumed.set(id, state);
  }
  return resumed;
}

/** A JSON object; anything else is ignored, because nothing depends on it. */
function attributesIn(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length > maxAttributes)
    throw new RpcError("INVALID_ARGUMENT", `${attributesHeader} is longer than ${maxAttributes} bytes`);
  try {
    const attributes: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isJsonObject(attributes) ? attributes : undefined;
  } catch {
    // Another program's header of the same name.
    return undefined;
  }
}
