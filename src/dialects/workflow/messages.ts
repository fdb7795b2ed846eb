/** Holds a workflow that is being deleted until its active children are gone. */
export const finalizer = "slipway.dev/workflow";
