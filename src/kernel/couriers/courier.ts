import type { JsonObject } from "#lib/base/index.ts";

// Effects outside of any API server are performed by couriers: processes that outlive the server. The interface is
// here, so that the executor and its tests need no process.

/** An effect outside of any API server, as data: another process performs it and records its result durably. */
export type OutsideRequest =
  | {
      readonly kind: "http";
      readonly method: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly timeoutMs: number;
      readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
    }
  | {
      readonly kind: "email";
      readonly host: string;
      readonly port: number;
      readonly username: string;
      readonly password: string;
      readonly from: { readonly address: string; readonly alias?: string };
      readonly to: readonly string[];
      readonly subject: string;
      readonly body: string;
    }
  | {
      readonly kind: "command";
      readonly argv: readonly string[];
      readonly directory?: string;
      readonly timeoutMs: number;
    };

export type HttpRequest = Extract<OutsideRequest, { readonly kind: "http" }>;

export type EffectAnswer =
  | { readonly ok: true; readonly value: JsonObject }
  /** `isDone`: it has reached its aim or may have, so that it must not be repeated unasked. */
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
