import type { CallContext } from "#kernel/rpc/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";

/** Who calls, as far as it was proved. */
export interface Caller {
  /** For messages. */
  readonly name: string;
  /** Whether it may speak for this agent. */
  isAgent(agentID: string): boolean;
}

/** Tells who calls; throws UNAUTHENTICATED for who does not say. */
export type Identify = (call: CallContext) => Caller;

/** Everybody is whoever they say: for networks that only machines of the operator's are on. */
export const anybody: Identify = () => ({ name: "the caller", isAgent: () => true });

/** Longer ids are nobody's. */
const maxBytes = 256;
const control = /[\u0000-\u001f\u007f]/;

/** An agent's id as it was told, or INVALID_ARGUMENT. */
export function checkedAgentID(agentID: string, whenEmpty: string): string {
  if (agentID === "") throw new RpcError("INVALID_ARGUMENT", whenEmpty);
  if (Buffer.byteLength(agentID) > maxBytes)
    throw new RpcError("INVALID_ARGUMENT", `agent_id is longer than ${maxBytes} bytes`);
  if (control.test(agentID)) throw new RpcError("INVALID_ARGUMENT", "agent_id holds control characters");
  return agentID;
}
