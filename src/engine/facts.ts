import type { ItemTry } from "./items.ts";
import type { WaitReason } from "./run.ts";
import type { Instant, JsonObject, Millis } from "./values.ts";

/** `gone`: it was there, or may have been. */
export type ChildState =
  | { readonly is: "alive" | "gone" }
  /** `again`: a loop needs another round. `reason` and `message`: of an unusual success; not for items. */
  | {
      readonly is: "succeeded";
      readonly outputs?: JsonObject;
      readonly artifacts?: JsonObject;
      readonly again?: true;
      readonly reason?: string;
      readonly message?: string;
    }
  /** `lost`: the end is unknown. */
  | {
      readonly is: "failed";
      readonly reason: string;
      readonly message?: string;
      readonly retryable: boolean;
      readonly lost?: true;
    };

/** An observation of a child; ignored for another attempt. */
export interface ChildFact {
  readonly kind: "child";
  /** Full id of the step. */
  readonly step: string;
  readonly attempt: number;
  /** Whose child it is; ignored for another attempt of the item. */
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
  /** The start taken back or granted. */
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
  /** Run number it is for; ignored otherwise, which makes `retry` repeatable. */
  readonly number?: number;
  readonly force?: boolean;
  readonly by?: string;
  readonly reason?: string;
  readonly values?: JsonObject;
}

/** Facts of one call have no order. */
export type Fact = ChildFact | GrantFact | ActionFact;

/** What the state owes the world. Must be repeatable. Only `work`, `observe` and `fan` owe. */
export interface Effect {
  readonly kind: "start" | "cancel";
  readonly step: string;
  readonly attempt: number;
  readonly item?: ItemTry;
  /** Time for the child to end by itself. */
  readonly graceMs?: Millis;
}
