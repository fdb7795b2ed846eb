const isLong = process.env["SLIPWAY_LONG"] !== undefined;

/**
 * How often something is tried, or for how long: `few` where every change is judged, `many` in `npm run test:long`, which sets
 * SLIPWAY_LONG.
 */
export const rounds = (few: number, many: number): number => (isLong ? many : few);
