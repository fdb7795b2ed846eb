/**
 * A source of chance: each call gives the next number, uniform in [0, 1). It is an argument like a clock, so that a test can
 * seed it. Good for spreading and for names, never for secrets.
 */
export type Random = () => number;
