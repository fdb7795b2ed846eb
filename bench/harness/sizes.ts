/** Set by `--smoke` for this process and those it starts: everything is tried once, and nothing measured. */
export const isSmoke: boolean = process.env["SLIPWAY_BENCH_SMOKE"] === "1";

/** So many objects, agents or milliseconds; a hundredth of them in a smoke run. */
export const sized = (full: number): number => (isSmoke ? Math.ceil(full / 100) : full);
