/** Who creates a build with this annotation asks for its worker at once, and waits for that. */
export const startedByAnnotation = "wharf.slipway.dev/started-by";

/** Who has created a build, for the audit log: set by the server, which refuses to change it. */
export const createdByAnnotation = "wharf.slipway.dev/created-by";
