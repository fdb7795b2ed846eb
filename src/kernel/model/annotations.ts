/**
 * On a Pod, or the template it is made from: values of variables are kept out of what its containers print and say at their end. Those that
 * come from Secrets, and those that it names, divided by commas; it may be empty.
 */
export const maskAnnotation = "slipway.dev/mask-env";

/** The variable that names the file into which a container writes its outputs: its termination message. */
export const outputVariable = "SLIPWAY_OUTPUT";
/**
 * Label of Nodes that keep more of outputs than Kubernetes does of a termination message: a number of bytes. It holds for one container of a Pod
 * (the one named main, or else the first) and where its document sets `outputVariable`. Of what is longer they keep more than that.
 */
export const keptOutputLabel = "slipway.dev/output-bytes";

/** The reason of a terminated container whose exit status is unknown, as Kubernetes calls it. */
export const lostReason = "ContainerStatusUnknown";
