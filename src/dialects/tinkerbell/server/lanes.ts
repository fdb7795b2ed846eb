import { keyedSerializer } from "#lib/base/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";

/** An agent sends one thing at a time, so more is abuse. */
const mostWaiting = 64;

/** Runs work of one key in order and of different keys in parallel. */
export class Lanes {
  readonly #inTurn = keyedSerializer<string>({
    mostWaiting,
    refusal: () => new RpcError("UNAVAILABLE", "too much of this agent waits to be recorded"),
  });

  /** Rejects with UNAVAILABLE if too much waits. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#inTurn(key, work);
  }
}
