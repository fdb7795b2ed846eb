import type { Instant, JsonObject, Millis } from "#lib/base/index.ts";
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

/** More replacements within this time mean two agents with one id. */
const restlessFor: Millis = 60_000;
const restlessAfter = 3;
/** A connection costs about 40 KiB of memory. */
const maxConnections = 20_000;

/** Ends the older of two connections of one agent. */
export const superseded = (): RpcError => new RpcError("ABORTED", "superseded by a newer connection");

interface Place {
  readonly connection: Connection;
  /** Times of the last replacements, at most `restlessAfter` + 1. */
  readonly replacedAt: readonly Instant[];
}

export class Connections {
  readonly #places = new Map<string, Place>();

  get size(): number {
    return this.#places.size;
  }

  /** By any spelling of its id. */
  get(agent: string): Connection | undefined {
    return this.#places.get(agentKey(agent))?.connection;
  }

  /** Replaces an earlier stream, which ends. `isDuplicate` if too often. Throws RESOURCE_EXHAUSTED. */
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

  /** A newer call by another protocol replaces the stream. False without a stream. */
  supersede(agent: string): boolean {
    const key = agentKey(agent);
    const before = this.#places.get(key);
    this.#places.delete(key);
    before?.connection.end(superseded());
    return before !== undefined;
  }

  /** False if a newer stream has replaced it. */
  close(connection: Connection): boolean {
    if (!this.isCurrent(connection)) return false;
    return this.#places.delete(connection.key);
  }

  /** No newer stream has replaced it. */
  isCurrent(connection: Connection): boolean {
    return this.#places.get(connection.key)?.connection === connection;
  }
}
