import type { CallContext } from "#kernel/rpc/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";

export interface Caller {
  readonly name: string;
  /** Its credential is for certain ids. */
  readonly isIndividual: boolean;
  /** Whether it may speak for this agent now: credentials can be revoked during a call. */
  isAgent(agentID: string): boolean;
  /** Calls `changed` when that may have changed, until the returned function is called. */
  onChange(changed: () => void): () => void;
}

/** Throws UNAUTHENTICATED without valid credentials. */
export type Identify = (call: CallContext) => Caller;

/** Admits every caller as any agent. */
export const anybody: Identify = () => everyone;

export const anonymous = (): Caller => stranger;

const nothing = (): void => undefined;
export const never: Caller["onChange"] = () => nothing;

const everyone: Caller = { name: "the caller", isIndividual: true, isAgent: () => true, onChange: never };
const stranger: Caller = { ...everyone, isIndividual: false };

/** Throws PERMISSION_DENIED for another agent's caller. */
export function allow(caller: Caller, agentID: string): void {
  if (!caller.isAgent(agentID)) throw new RpcError("PERMISSION_DENIED", `the caller is not agent ${agentID}`);
}

export const notValid = (): RpcError => new RpcError("UNAUTHENTICATED", "the token is not valid any more");

const maxBytes = 256;
const control = /[\u0000-\u001f\u007f]/;

/** The id of an agent, or INVALID_ARGUMENT. */
export function checkedAgentID(agentID: string, whenEmpty: string): string {
  if (agentID === "") throw new RpcError("INVALID_ARGUMENT", whenEmpty);
  if (Buffer.byteLength(agentID) > maxBytes)
    throw new RpcError("INVALID_ARGUMENT", `agent_id is longer than ${maxBytes} bytes`);
  if (control.test(agentID)) throw new RpcError("INVALID_ARGUMENT", "agent_id holds control characters");
  return agentID;
}
