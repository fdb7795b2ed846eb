/** Runs work after everything given before has settled; a failure does not stop later work. */
export type InTurn = <T>(work: () => T | Promise<T>) => Promise<T>;

/** One piece of work at a time, in the order of the calls. */
export function serializer(bound?: TurnBound): InTurn {
  const inTurn = keyedSerializer<undefined>(bound);
  return (work) => inTurn(undefined, work);
}

/** How much work of one key may wait, the running one included, and how more is refused. */
interface TurnBound {
  readonly mostWaiting: number;
  readonly refusal: () => Error;
}

interface Line {
  last: Promise<unknown>;
  waiting: number;
}

/** One piece of work at a time for each key. Nothing is kept of a key without work. */
export function keyedSerializer<K>(bound?: TurnBound): <T>(key: K, work: () => T | Promise<T>) => Promise<T> {
  const lines = new Map<K, Line>();
  return (key, work) => {
    const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 };
    if (bound !== undefined && line.waiting >= bound.mostWaiting) return Promise.reject(bound.refusal());
    lines.set(key, line);
    line.waiting++;
    const turn = line.last.then(work);
    line.last = turn.catch(() => undefined).then(() => --line.waiting === 0 && lines.delete(key));
    return turn;
  };
}
