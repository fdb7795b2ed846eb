import type { Instant, Millis } from "#lib/base/index.ts";

/** More replacements within this time mean two agents with one id. */
const restlessFor: Millis = 60_000;
const restlessAfter = 3;
/** A connection costs about 40 KiB of memory. */
const maxConnections = 20_000;

interface Place<C> {
  readonly connection: C;
  /** Times of the last replacements, at most `restlessAfter` + 1. */
  readonly replacedAt: readonly Instant[];
}

export interface ConnectionsOptions<C> {
  /** Equal for all spellings of an id. */
  readonly keyOf: (agentID: string) => string;
  /** Ends a connection that a newer one of its agent replaces. */
  readonly replace: (connection: C) => void;
  /** Why one too many is refused. */
  readonly refusal: () => Error;
}

/** One connection for each agent: the newest. */
export class Connections<C extends { readonly key: string }> {
  readonly #options: ConnectionsOptions<C>;
  readonly #places = new Map<string, Place<C>>();

  constructor(options: ConnectionsOptions<C>) {
    this.#options = options;
  }

  get size(): number {
    return this.#places.size;
  }

  /** By any spelling of its id. */
  get(agent: string): C | undefined {
    return this.#places.get(this.#options.keyOf(agent))?.connection;
  }

  /** Replaces an earlier connection, which ends. `isDuplicate` if too often. Throws the refusal of one too many. */
  open(connection: C, now: Instant): { readonly isDuplicate: boolean } {
    const before = this.#places.get(connection.key);
    if (before === undefined && this.#places.size >= maxConnections) throw this.#options.refusal();
    const recent = before?.replacedAt.filter((at) => now - at < restlessFor) ?? [];
    const replacedAt = before === undefined ? [] : [...recent, now].slice(-restlessAfter - 1);
    this.#places.set(connection.key, { connection, replacedAt });
    if (before !== undefined) this.#options.replace(before.connection);
    return { isDuplicate: replacedAt.length > restlessAfter };
  }

  /** A newer call by another protocol replaces the connection. False without one. */
  supersede(agent: string): boolean {
    const key = this.#options.keyOf(agent);
    const before = this.#places.get(key);
    this.#places.delete(key);
    if (before !== undefined) this.#options.replace(before.connection);
    return before !== undefined;
  }

  /** False if a newer one has replaced it. */
  close(connection: C): boolean {
    if (!this.isCurrent(connection)) return false;
    return this.#places.delete(connection.key);
  }

  /** No newer one has replaced it. */
  isCurrent(connection: C): boolean {
    return this.#places.get(connection.key)?.connection === connection;
  }
}
