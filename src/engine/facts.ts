import type { ItemTry } from "./items.ts";
import type { WaitReason } from "./run.ts";
import type { Instant, JsonObject, Millis } from "./values.ts";

/** What was seen of the child of one attempt. `gone`: it was there, or may have been, and is not any more. */
export type ChildState =
  | { readonly is: "alive" | "gone" }
  /**
   * `again`: a round of a loop went well, and it was not the last one. `reason` and `message` are for a success that is no plain one, such
   * as one that is known from before; of an item they are not kept.
   */
  | {
      readonly is: "succeeded";
      readonly outputs?: JsonObject;
      readonly artifacts?: JsonObject;
      readonly again?: true;
      readonly reason?: string;
      readonly message?: string;
    }
  /** `lost`: nobody knows how it ended. */
  | {
      readonly is: "failed";
      readonly reason: string;
      readonly message?: string;
      readonly retryable: boolean;
      readonly lost?: true;
    };

/** An observation of one child. For another attempt than the step's current one it is stale and ignored. */
export interface ChildFact {
  readonly kind: "child";
  /** Full id of the step. */
  readonly step: string;
  readonly attempt: number;
  /** The item whose child it is; for another attempt of the item the fact is stale as well. */
  readonly item?: ItemTry;
  readonly state: ChildState;
}

/**
 * Whether the world lets a step start. `granted: true` makes a blocked `Waiting` step ready. `granted: false` blocks a
 * `Waiting` step; with `attempt` it also takes back the start of that attempt (the child was refused, nothing exists),
 * which costs no attempt. A blocked step becomes ready by a later grant or, if `notBefore` is given, at that instant.
 * For a fan-out whose items need grants, `granted: false` without an item tells what they wait for.
 */
export interface GrantFact {
  readonly kind: "grant";
  readonly step: string;
  readonly granted: boolean;
  readonly attempt?: number;
  /** The start of this item is taken back; or granted, where items need a grant, for this call. */
  readonly item?: ItemTry;
  readonly reason?: WaitReason;
  readonly message?: string;
  readonly notBefore?: Instant;
}

export type ActionName = "cancel" | "suspend" | "resume" | "retry" | "approve" | "reject" | "skip";

/**
 * A person's (or a parent's) command. Without `step` it is about the run. What each accepts and does:
 *
 * - `cancel` run: closes it, final steps still run unless `force`; step: cancels that step, whatever it waits for.
 * - `suspend`, `resume` run: nothing new starts meanwhile. `resume` with a step means `approve`.
 * - `approve`, `reject` a `Suspended` step; `values` become the outputs of an approved one.
 * - `skip` a `Pending` or `Waiting` step: `Skipped(ConditionFalse)`, which is ok for dependants.
 * - `retry` a finished run: see `reset`; `steps` (or `step`) selects, otherwise whatever did not go well.
 */
export interface ActionFact {
  readonly kind: "action";
  readonly action: ActionName;
  readonly step?: string;
  readonly steps?: readonly string[];
  /** Run number the action was meant for; for another number it is stale and ignored. Makes `retry` safe to repeat. */
  readonly number?: number;
  readonly force?: boolean;
  readonly by?: string;
  readonly reason?: string;
  readonly values?: JsonObject;
}

/** Something observed. Facts of one call have no order. */
export type Fact = ChildFact | GrantFact | ActionFact;

/**
 * What the state owes the world. Performing it twice must be harmless: children have names derived from the attempt.
 * Only steps of kind `work`, `observe` and `fan` owe anything; `start` of an observed step means: begin to look at it.
 */
export interface Effect {
  readonly kind: "start" | "cancel";
  /** Full id of the step. */
  readonly step: string;
  readonly attempt: number;
  /** For a fan-out: whose child is to be started or cancelled. */
  readonly item?: ItemTry;
  /** For `cancel`: time the child gets to end politely. */
  readonly graceMs?: Millis;
}
