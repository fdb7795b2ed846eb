export const startedByAnnotation = "wharf.slipway.dev/started-by";

/** The creator of a build, for the audit log. Set by the server and immutable. */
export const createdByAnnotation = "wharf.slipway.dev/created-by";
