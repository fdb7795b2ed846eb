declare const SLIPWAY_VERSION: string | undefined;

/** The version of this program; the bundler writes it in. */
export const version: string = typeof SLIPWAY_VERSION === "string" ? SLIPWAY_VERSION : "0.0.0-source";
