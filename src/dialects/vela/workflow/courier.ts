import type { JsonObject } from "#lib/base/index.ts";
import type { OutsideRequest } from "../ops/provider.ts";

// Effects outside of any API server are performed by couriers: processes that outlive the server. The interface is
// here, so that the executor and its tests need no process.

export type EffectAnswer =
  | { readonly ok: true; readonly value: JsonObject }
  /** `isDone`: it reached its aim, so that it must not be repeated. */
  | { readonly ok: false; readonly message: string; readonly isDone?: true };

export type Delivery =
  | { readonly kind: "answer"; readonly answer: EffectAnswer }
  /** It was begun, and its courier is gone without an answer. */
  | { readonly kind: "unknown" }
  /** Nothing is known of it. */
  | { readonly kind: "absent" };

export interface Courier {
  /** Names the directory of its files: an effect that is absent from its own directory was never begun. */
  place(): Promise<string>;
  /** Performs the effect unless it was begun before; waits for its answer in either case. */
  deliver(effect: string, request: OutsideRequest, signal: AbortSignal): Promise<Delivery>;
  /** Waits for an effect that was begun; begins nothing. */
  outcome(effect: string, signal: AbortSignal): Promise<Delivery>;
  /** Removes what is left of effects whose answers are stored. */
  forget(effects: readonly string[]): Promise<void>;
}
