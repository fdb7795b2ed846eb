import type { Instant, JsonObject, Millis } from "#lib/base/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import type { Resumed } from "../reconnect.ts";
import { agentKey } from "../state.ts";
import type { Command } from "./commands.ts";

/** An agent says who it is when it opens its command stream. */
export interface Hello {
  readonly agentID: string;
  /** One process of a native agent; foreign ones have none. */
  readonly instance?: string;
  /** Of a native agent's program, and where its actions run. */
  readonly version?: string;
  readonly runtime?: string;
  /** What it goes on with, by the id it was told; workflows that are not here it is free of. */
  readonly resumed: ReadonlyMap<string, Exclude<Resumed, "none">>;
  /** What it tells of its machine. */
  readonly attributes?: JsonObject;
  /** Its credential is for this id alone. */
  readonly isIndividual?: boolean;
}

/** An agent on its command stream. */
export interface Connection extends Hello {
  /** Equal for all spellings of its id. */
  readonly key: string;
  send(command: Command): void;
  /** Ends the stream with this status. */
  end(reason: RpcError): void;
  /** Ids of workflows it was told to stop on this stream; of those that it is still held for. */
  readonly stopped: Set<string>;
  /** The workflow it was last told to begin on this stream, or has said that it goes on with, and which dispatch of it that was. */
  started?: { readonly id: string; readonly attempt: number };
  /** What it was held for when it came has been settled. */
  isGreeted: boolean;
}

/** More replacements of one agent within this time are two agents with one id, not one that has lost its connection. */
const restlessFor: Millis = 60_000;
const restlessAfter = 3;
/** Each costs some 40 KiB of memory with its connection. */
const maxConnections = 20_000;

/** What the older of two connections of one agent ends with. */
export const superseded = (): RpcError => new RpcError("ABORTED", "superseded by a newer connection");

/** What is known of an agent while it is connected. */
interface Place {
  readonly connection: Connection;
  /** When the last ones were replaced, at most `restlessAfter` + 1. */
  readonly replacedAt: readonly Instant[];
}

/** The agents that are connected, one stream each. */
export class Connections {
  readonly #places = new Map<string, Place>();

  /** How many there are. */
  get size(): number {
    return this.#places.size;
  }

  /** The stream of an agent, by whatever spelling of its id. */
  get(agent: string): Connection | undefined {
    return this.#places.get(agentKey(agent))?.connection;
  }

  /** The newest stream of an agent is the one that counts: the one before ends. True for one that is replaced too often. Throws RESOURCE_EXHAUSTED. */
  open(connection: Connection, now: Instant): { readonly isDuplicate: boolean } {
    const before = this.#places.get(connection.key);
    if (before === undefined && this.#places.size >= maxConnections)
      throw new RpcError("RESOURCE_EXHAUSTED", "too many agents are connected to this server");
    const recent = before?.replacedAt.filter((at) => now - at < restlessFor) ?? [];
    const replacedAt = before === undefined ? [] : [...recent, now].slice(-restlessAfter - 1);
    this.#places.set(connection.key, { connection, replacedAt });
    before?.connection.end(superseded());
    return { isDuplicate: replacedAt.length > restlessAfter };
  }

  /** A newer call of the agent by another protocol takes the place of its stream, which ends. False without a stream. */
  supersede(agent: string): boolean {
    const key = agentKey(agent);
    const before = this.#places.get(key);
    this.#places.delete(key);
    before?.connection.end(superseded());
    return before !== undefined;
  }

  /** Whether it was this connection that its agent had. */
  close(connection: Connection): boolean {
    if (!this.isCurrent(connection)) return false;
    return this.#places.delete(connection.key);
  }

  /** No newer stream of its agent has taken its place. */
  isCurrent(connection: Connection): boolean {
    return this.#places.get(connection.key)?.connection === connection;
  }
}
