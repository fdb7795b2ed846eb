/** A caller in Kubernetes' terms. Groups decide; the user is for messages, limits and logs. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  /** Distinguishes users of one name; for accounts the uid of their object. */
  readonly uid?: string;
  /** Further facts, such as the Pod a token is bound to. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Its members may do everything. */
export const mastersGroup = "system:masters";
export const authenticatedGroup = "system:authenticated";

export const admin: Identity = { user: "slipway:admin", groups: [mastersGroup, authenticatedGroup] };

/** This process's own controllers and collectors; never used over HTTP. */
export const internal: Identity = { user: "slipway:internal", groups: [mastersGroup, authenticatedGroup] };

export const isMaster = (identity: Identity): boolean => identity.groups.includes(mastersGroup);

/** `resource` is the plural with its subresource (`pods/log`). With `path`, group and resource are unused. */
export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  /** Undefined for collections and creations. */
  readonly name?: string;
  readonly path?: string;
}

/** `audiences` are those of the requested ones for which the token is valid. */
export interface ReviewedToken {
  readonly identity: Identity;
  readonly audiences: readonly string[];
}

/** Does not count failures: callers have permissions of their own. */
export interface TokenReviewer {
  /** Undefined for an invalid token; without audiences it must be valid for this server. */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined;
}
