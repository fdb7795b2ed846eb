/** One overload of a function that expressions can call. The CEL library checks arguments against the signature. */
export interface LibraryFunction {
  readonly signature: string;
  readonly call: (...args: readonly unknown[]) => unknown;
  /** The CEL library has a function of this name whose behaviour is not that of Kubernetes; all its overloads are given here. */
  readonly replaces?: true;
}

/** Longest text a function may make, in UTF-16 code units. */
const longestText = 4_000_000;

/** The signatures promise these types; the checks below only tell the compiler, and catch a wrong signature. */
export function asText(value: unknown): string {
  if (typeof value !== "string") throw new Error("expected a string");
  return value;
}

export function asInt(value: unknown): bigint {
  if (typeof value !== "bigint") throw new Error("expected an int");
  return value;
}

/** An int as a JavaScript number; beyond 2^53 it is far outside of every range it is compared with. */
export const asNumber = (value: unknown): number => Number(asInt(value));

export function asList(value: unknown): readonly unknown[] {
  if (value instanceof Set) return [...value];
  if (!Array.isArray(value)) throw new Error("expected a list");
  return value;
}

/** Refuses a text before it is made. */
export function checkLength(length: number): void {
  if (length > longestText) throw new Error(`the text would be longer than ${longestText} characters`);
}
