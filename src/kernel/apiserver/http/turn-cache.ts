import type { Chunk } from "./chunk.ts";

/**
 * Shares encoded batches among the watchers that are served in one turn of the event loop: a commit reaches all its watchers in
 * one turn, and most of them want the same bytes, so a hundred watchers of Pods cost one encoding. Keys are the batch of events (by
 * identity) and how it is seen (form, columns, selector). What was made for a turn is forgotten after it, so nothing is kept for
 * readers that do not exist.
 */
export class TurnCache {
  #made = new Map<object, Map<string, Chunk>>();

  /** The chunk for this source and key, made once per turn. */
  get(source: object, key: string, make: () => Chunk): Chunk {
    if (this.#made.size === 0) setImmediate(() => (this.#made = new Map()));
    let byKey = this.#made.get(source);
    if (byKey === undefined) this.#made.set(source, (byKey = new Map()));
    let chunk = byKey.get(key);
    if (chunk === undefined) byKey.set(key, (chunk = make()));
    return chunk;
  }
}
