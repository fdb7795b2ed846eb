import type { CallContext } from "#kernel/rpc/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";

/** Who calls, as far as it was proved. */
export interface Caller {
  /** For messages. */
  readonly name: string;
  /** Its credential is for certain ids, not for any. */
  readonly isIndividual: boolean;
  /** Whether it may speak for this agent, as of now: a proof may be taken back while a call is open. */
  isAgent(agentID: string): boolean;
  /** Calls `changed` when that may have changed; until the answered function is called. */
  onChange(changed: () => void): () => void;
}

/** Tells who calls; throws UNAUTHENTICATED for who does not say. */
export type Identify = (call: CallContext) => Caller;

/** Every caller is taken for whatever agent it names. */
export const anybody: Identify = () => everyone;

/** The same of callers without a credential. */
export const anonymous = (): Caller => stranger;

const nothing = (): void => undefined;
/** Of what does not change while a call is open. */
export const never: Caller["onChange"] = () => nothing;

/** One for all: very many streams are open at once. */
const everyone: Caller = { name: "the caller", isIndividual: true, isAgent: () => true, onChange: never };
const stranger: Caller = { ...everyone, isIndividual: false };

/** PERMISSION_DENIED for who has proved to be somebody else. */
export function allow(caller: Caller, agentID: string): void {
  if (!caller.isAgent(agentID)) throw new RpcError("PERMISSION_DENIED", `the caller is not agent ${agentID}`);
}

/** What an open call ends with when its proof is taken back. */
export const notValid = (): RpcError => new RpcError("UNAUTHENTICATED", "the token is not valid any more");

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
