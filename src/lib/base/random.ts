/**
 * A source of chance: each call gives the next number, uniform in [0, 1). Handed to whoever needs it, like a clock, so that a test can
 * seed it and say what comes. Good for spreading and for names, never for secrets.
 */
export type Random = () => number;
