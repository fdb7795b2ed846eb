declare const SLIPWAY_VERSION: string | undefined;

/** Defined by the bundler. */
export const version: string = typeof SLIPWAY_VERSION === "string" ? SLIPWAY_VERSION : "0.0.0-source";
