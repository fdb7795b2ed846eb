/**
 * On a Pod or a Pod template: masks values of variables in output and termination messages: those that come from
 * Secrets, and those named here, separated by commas. May be empty.
 */
export const maskAnnotation = "slipway.dev/mask-env";

/** The variable with the path of the file for a container's outputs: its termination message. */
export const outputVariable = "SLIPWAY_OUTPUT";
/**
 * Label of Nodes that keep longer outputs than Kubernetes' termination messages: a number of bytes. It applies to one
 * container of a Pod (the one named main, or the first) whose document sets `outputVariable`.
 */
export const keptOutputLabel = "slipway.dev/output-bytes";

/** Kubernetes' reason for a terminated container with unknown exit status. */
export const lostReason = "ContainerStatusUnknown";
