import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import {
  type CallContext,
  type MessageShape,
  RpcError,
  type RpcService,
  service,
  workflowV2,
} from "#kernel/rpc/index.ts";
import type { AgentEvent } from "../events.ts";
import { present } from "../members.ts";
import type { Resumed } from "../reconnect.ts";
import { agentKey } from "../state.ts";
import { type Caller, checkedAgentID, type Identify } from "./caller.ts";
import type { Connection } from "./connections.ts";

/** What the command stream and its events are made of. */
export interface StreamParts {
  readonly identify: Identify;
  /** An agent has come; it is connected until the answered function is called. */
  readonly connect: (connection: Connection) => () => void;
  readonly record: (id: string, event: AgentEvent, caller: Caller) => Promise<void>;
}

const headers = { instance: "x-slipway-instance", resume: "x-slipway-resume", attributes: "x-slipway-attributes-bin" };
const maxHeader = 8192;
const maxAttributes = 65_536;

/** The command stream of the proposal, with what Slipway's own agent says besides. */
export function streamService({ identify, connect, record }: StreamParts): RpcService {
  return service(workflowV2.WorkflowService, {
    async getWorkflows({ agentId }, replies, call) {
      const agentID = checkedAgentID(agentId, "agent_id is empty");
      if (!identify(call).isAgent(agentID))
        throw new RpcError("PERMISSION_DENIED", `the caller is not agent ${agentID}`);
      const said = helloIn(call);
      call.sendHeaders({ "x-slipway-features": "resume" });
      // Rejects with the status to end with: of a newer stream, of the listener that closes, or that the agent has gone.
      await new Promise<never>((_resolve, reject) => {
        const disconnect = connect({
          ...said,
          agentID,
          key: agentKey(agentID),
          stopped: new Set(),
          isGreeted: false,
          send: (command) => {
            if (!call.signal.aborted) replies.send(command);
          },
          end: reject,
        });
        const leave = (): void => {
          disconnect();
          reject(call.signal.reason as Error);
        };
        if (call.signal.aborted) leave();
        else call.signal.addEventListener("abort", leave, { once: true });
      });
    },
    async publishEvent({ event }, call) {
      const [id, told] = eventIn(event);
      await record(id, told, identify(call));
      return {};
    },
  });
}

/** What an agent says when it comes, besides its id. */
function helloIn(call: CallContext) {
  const instance = headerOf(call, headers.instance);
  return {
    resumed: resumedIn(headerOf(call, headers.resume)),
    ...(instance === "" ? {} : { instance }),
    ...present({ attributes: attributesIn(call.binary(headers.attributes)[0]) }),
  };
}

function headerOf(call: CallContext, name: string): string {
  const text = call.header(name);
  if (text.length > maxHeader) throw new RpcError("INVALID_ARGUMENT", `${name} is longer than ${maxHeader} bytes`);
  return text;
}

const resumption = /^([^;,]+);action=([^;,]*);state=(running|interrupted)$/;

/** `<workflow_id>;action=<id>;state=running`, as often as needed. */
function resumedIn(text: string): ReadonlyMap<string, Exclude<Resumed, "none">> {
  const resumed = new Map<string, Exclude<Resumed, "none">>();
  for (const part of text.split(",").filter((each) => each.trim() !== "")) {
    const [, id = "", , state] = resumption.exec(part.trim()) ?? [];
    if (state !== "running" && state !== "interrupted")
      throw new RpcError(
        "INVALID_ARGUMENT",
        `${headers.resume} is not <workflow_id>;action=<id>;state=running|interrupted`,
      );
    resumed.set(id, state);
  }
  return resumed;
}

/** An object of JSON; what is none is not kept, because nothing depends on it. */
function attributesIn(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length > maxAttributes)
    throw new RpcError("INVALID_ARGUMENT", `${headers.attributes} is longer than ${maxAttributes} bytes`);
  try {
    const attributes: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isJsonObject(attributes) ? attributes : undefined;
  } catch {
    return undefined;
  }
}

type EventMessage = MessageShape<typeof workflowV2.EventSchema>;

/** An event and the workflow it is of; what is missing is named. */
function eventIn(message: EventMessage | undefined): readonly [string, AgentEvent] {
  const missing = (field: string): RpcError => new RpcError("INVALID_ARGUMENT", `${field} is empty`);
  if (message === undefined) throw missing("event");
  const { workflowId, event } = message;
  if (workflowId === "") throw missing("event.workflow_id");
  if (event.case === undefined) throw missing("event.event");
  if (event.case === "workflowRejected") {
    const { failureReason: reason, failureMessage } = event.value;
    return [workflowId, { is: "rejected", message: failureMessage, ...present({ reason }) }];
  }
  const action = event.value.actionId;
  if (action === "") throw missing(`event.${fieldNames[event.case]}.action_id`);
  if (event.case === "actionStarted") return [workflowId, { is: "started", action }];
  if (event.case === "actionSucceeded") return [workflowId, { is: "succeeded", action }];
  const { failureReason = "", failureMessage = "" } = event.value;
  return [
    workflowId,
    {
      is: "failed",
      action,
      reason: failureReason === "" ? "RuntimeError" : failureReason,
      message: failureMessage === "" ? "the agent reported a failure without details" : failureMessage,
    },
  ];
}

const fieldNames = {
  actionStarted: "action_started",
  actionSucceeded: "action_succeeded",
  actionFailed: "action_failed",
} as const;
