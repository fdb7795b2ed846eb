import type { Identity } from "./identity.ts";

/** Who a token belongs to, and for which of the audiences that were asked for it is good. */
export interface ReviewedToken {
  readonly identity: Identity;
  readonly audiences: readonly string[];
}

/** Tells whose a token is, without counting failures: who asks has rights of his own. */
export interface TokenReviewer {
  /** Undefined when it is nobody's, or good for none of `audiences`; without audiences it must be good for this server. */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined;
}
