/** The outcome of a computation whose failure is data, not an exception. `ok` tells the two apart; the other member is absent. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

/** Success. The type of the error is whatever the caller's signature says. */
export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });
/** Failure, as `return err(problems)`. */
export const err = <E>(error: E): Result<never, E> => ({ ok: false, error });
