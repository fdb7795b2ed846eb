/** Uniform in [0, 1). An argument like a clock, so tests can seed it. Not for secrets. */
export type Random = () => number;
