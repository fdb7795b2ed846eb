// Who asks, and for what. What they may do is for the authorizer to say.

/** Who asks, in Kubernetes' terms. Groups decide; the user is a name for messages, limits and logs. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  /** Tells users of one name apart; accounts have that of their object. */
  readonly uid?: string;
  /** What an authenticator knows besides, such as the Pod that a token is bound to. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Who is in it may do everything, whatever roles say. */
export const mastersGroup = "system:masters";
/** Everybody who has shown credentials. */
export const authenticatedGroup = "system:authenticated";

/** Whoever holds the admin token. */
export const admin: Identity = { user: "slipway:admin", groups: [mastersGroup, authenticatedGroup] };

/** For the parts of this process that use the API directly: controllers and collectors. No request over HTTP ever has it. */
export const internal: Identity = { user: "slipway:internal", groups: [mastersGroup, authenticatedGroup] };

/** True when no question needs to be asked. */
export const isMaster = (identity: Identity): boolean => identity.groups.includes(mastersGroup);

/**
 * One wish. `resource` is the plural, with its subresource (`pods/log`). With `path` it is about a path that is no resource, and
 * group and resource mean nothing.
 */
export interface Access {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  /** Of one object; undefined for collections and creations. */
  readonly name?: string;
  readonly path?: string;
}
