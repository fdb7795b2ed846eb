/** Integer milliseconds since the Unix epoch. The engine has no clock. */
export type Instant = number;
/** Integer milliseconds. */
export type Millis = number;

/** Shared, never edited in place. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** The same structure as in lib, which the engine may not import. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });
export const err = <E>(error: E): Result<never, E> => ({ ok: false, error });
