import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";

// What the functions of this folder share. A function gets CEL values: texts, bigint for int, number for double,
// UnsignedInt, Uint8Array, Date, Duration, arrays, objects or Maps, and the types of this folder.

/** One overload of a function that expressions can call. The CEL library checks arguments against the signature. */
export interface LibraryFunction {
  /** `name(types): type`, or `type.name(types): type` for a method, whose receiver is then the first argument. */
  readonly signature: string;
  /** Pure. What it throws is the message of the failed evaluation: for users, without the name of the function. */
  readonly call: (...args: readonly unknown[]) => unknown;
  /** The CEL library's function of this name behaves unlike Kubernetes'; all its overloads are given here. */
  readonly replaces?: true;
}

/** Longest text a function may make, in UTF-16 code units: about the largest object the API takes. */
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

/** The value of an int or a uint, undefined for everything else. */
export function asInteger(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  return value instanceof UnsignedInt ? value.value : undefined;
}

/** Whether a value is CEL's `bytes`. */
export const isBytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array;

/** An int as a JavaScript number; beyond 2^53 it is far outside of every range it is compared with. */
export const asNumber = (value: unknown): number => Number(asInt(value));

export function asList(value: unknown): readonly unknown[] {
  if (value instanceof Set) return [...value];
  if (!Array.isArray(value)) throw new Error("expected a list");
  return value;
}

/** Instructions times characters of a pattern that are one unit: at most 6 µs. */
export const matchStepsPerUnit = 100;
const laterCharges = new WeakMap<object, number>();

/** Notes what making a result took in units of the meter, and returns the result. */
export function chargeLater<T extends object>(result: T, units: number): T {
  laterCharges.set(result, units);
  return result;
}

/** The units noted for a result, 0 for nearly all. */
export const laterCharge = (result: unknown): number =>
  typeof result === "object" && result !== null ? (laterCharges.get(result) ?? 0) : 0;

/** Refuses a text before it is made. */
export function checkLength(length: number): void {
  if (length > longestText) throw new Error(`the text would be longer than ${longestText} characters`);
}
