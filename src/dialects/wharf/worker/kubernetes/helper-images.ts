export interface HelperImages {
  readonly init: string;
  readonly artifacts: string;
}

export const defaultImages: HelperImages = { init: "alpine:3", artifacts: "alpine:3" };
