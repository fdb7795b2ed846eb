/** Points to the object that owns this one; by `uid`, so a new object of the same name owns nothing. */
export interface KindOwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  /** The one owner that manages the object; at most one reference says so. */
  readonly controller?: boolean;
  /** Kept for clients; foreground deletion, which it is for, is not served. */
  readonly blockOwnerDeletion?: boolean;
}

/** The `metadata` of objects of declared kinds, as Kubernetes' ObjectMeta. Times are RFC 3339. */
export interface KindObjectMeta {
  readonly name?: string;
  /** Asks the server for a name that begins so; ignored when a name is given. */
  readonly generateName?: string;
  readonly namespace?: string;
  /** Never used again, unlike the name. */
  readonly uid?: string;
  /** Opaque to clients, compared by equality; changes with every write. */
  readonly resourceVersion?: string;
  /** Changes with the spec; `status.observedGeneration` says which one a status is about. */
  readonly generation?: number;
  readonly creationTimestamp?: string;
  /** Set by a DELETE that finalizers or a grace period hold up; never taken back. */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Who has to clean up before the object may go; each removes its own name. */
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly KindOwnerReference[];
}
