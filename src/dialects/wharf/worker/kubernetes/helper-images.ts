/** Images of a step's Pod that are not the step's own; both need a shell and `tar`. */
export interface HelperImages {
  /** Waits until the repository is there. */
  readonly init: string;
  /** Hands out what the step has left. */
  readonly artifacts: string;
}

/** Where nobody has configured others. */
export const defaultImages: HelperImages = { init: "alpine:3", artifacts: "alpine:3" };
