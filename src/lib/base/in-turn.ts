/** Runs work after everything given before has settled; a failure does not stop later work. */
export type InTurn = <T>(work: () => T | Promise<T>) => Promise<T>;

/** One piece of work at a time, in the order of the calls. */
export function serializer(): InTurn {
  const inTurn = keyedSerializer<undefined>();
  return (work) => inTurn(undefined, work);
}

/** One piece of work at a time for each key. Nothing is kept of a key without work. */
export function keyedSerializer<K>(): <T>(key: K, work: () => T | Promise<T>) => Promise<T> {
  const lastByKey = new Map<K, Promise<unknown>>();
  return (key, work) => {
    const turn = (lastByKey.get(key) ?? Promise.resolve()).then(work);
    const settled = turn.catch(() => undefined);
    lastByKey.set(key, settled);
    void settled.then(() => lastByKey.get(key) === settled && lastByKey.delete(key));
    return turn;
  };
}
