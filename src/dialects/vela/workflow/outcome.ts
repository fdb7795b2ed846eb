import type { Instant } from "#lib/base/index.ts";
import type { ResourceRef } from "./status.ts";

/** How one execution of a step ended. */
export type StepOutcome = {
  readonly message?: string;
  readonly resourceRef?: ResourceRef;
} & (
  | { readonly kind: "succeeded" | "wait" }
  | { readonly kind: "suspend"; readonly until?: Instant }
  /** Retried with backoff. */
  | { readonly kind: "error"; readonly message: string }
  /** Final. */
  | { readonly kind: "failed"; readonly reason: string; readonly message: string }
  /** Nothing is known: the program ends, or has too much to do. The execution is repeated. */
  | { readonly kind: "interrupted" }
);
