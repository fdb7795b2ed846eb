const isLong = process.env["SLIPWAY_LONG"] !== undefined;

/**
 * How often something is tried, for how long or which of it: `few` where every change is judged, `many` in `npm run test:long`,
 * which sets SLIPWAY_LONG.
 */
export const rounds = <T>(few: T, many: T): T => (isLong ? many : few);
