/** A promise with its two ends in hand (`Promise.withResolvers` is not in Node 20). */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  /** The first call of either end decides; later ones do nothing. A rejection that nobody awaits ends the process. */
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A new pending promise. Both ends may be passed around: they need no `this`. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
