import type { JsonObject } from "#lib/base/index.ts";
import { Connections } from "#kernel/agents/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import type { Resumed } from "../reconnect.ts";
import { agentKey } from "../state.ts";
import type { Command } from "./commands.ts";

export interface Hello {
  readonly agentID: string;
  /** Process of a Slipway agent; foreign ones have none. */
  readonly instance?: string;
  readonly version?: string;
  readonly runtime?: string;
  /** Workflows it goes on with, by id; it is free of all others. */
  readonly resumed: ReadonlyMap<string, Exclude<Resumed, "none">>;
  readonly attributes?: JsonObject;
  /** Its credential is for this id only. */
  readonly isIndividual?: boolean;
}

export interface Connection extends Hello {
  /** Equal for all spellings of its id. */
  readonly key: string;
  send(command: Command): void;
  end(reason: RpcError): void;
  /** Workflows it holds and was told on this stream to stop. */
  readonly stopped: Set<string>;
  /** The workflow and dispatch it was last sent on this stream, or said it goes on with. */
  started?: { readonly id: string; readonly attempt: number };
  isGreeted: boolean;
}

/** Ends the older of two connections of one agent. */
export const superseded = (): RpcError => new RpcError("ABORTED", "superseded by a newer connection");

/** Open streams, one for each agent. */
export const streamsOfAgents = (): Connections<Connection> =>
  new Connections({
    keyOf: agentKey,
    replace: (connection) => connection.end(superseded()),
    refusal: () => new RpcError("RESOURCE_EXHAUSTED", "too many agents are connected to this server"),
  });
