/** `Promise.withResolvers`, which Node 20 lacks. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  /** The first call of either end decides. */
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** Both ends work without `this`. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
