/** Milliseconds since the Unix epoch, an integer. Always passed in: the engine has no clock. */
export type Instant = number;
/** A length of time in milliseconds, an integer. */
export type Millis = number;

/** Any JSON value. Data is shared, never edited in place. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** The outcome of a computation whose failure is data. Structurally equal to the one of lib, which the engine may not import. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });
export const err = <E>(error: E): Result<never, E> => ({ ok: false, error });
