import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import type { LibraryFunction } from "./function.ts";

const largest = 2n ** 63n - 1n;
const smallest = -(2n ** 63n);
const largestUnsigned = 2n ** 64n - 1n;

/** CEL's ints have 64 bits; a conversion that would lose bits is an error. */
function checked(value: bigint): bigint {
  if (value >= smallest && value <= largest) return value;
  throw new Error(`int(): ${value} does not fit into 64 bits`);
}

const inconvertible = (name: string, value: unknown): Error =>
  new Error(`${name}(): cannot convert ${JSON.stringify(String(value))}`);

// Conversions read texts as Go's strconv does in base 10. The CEL library asks JavaScript, for which "" is 0 and "0x10"
// is 16.

/** Texts are decimal with optional sign; doubles lose their fraction; timestamps are seconds since 1970, floored. */
function int(value: unknown): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof UnsignedInt) return checked(value.value);
  if (value instanceof Date) return BigInt(Math.floor(value.getTime() / 1000));
  if (typeof value === "number" && Number.isFinite(value)) return checked(BigInt(Math.trunc(value)));
  if (typeof value === "string" && /^[+-]?\d{1,19}$/.test(value)) return checked(BigInt(value.replace(/^\+/, "")));
  throw inconvertible("int", value);
}

/** Negative numbers have none; texts are decimal without a sign. */
function uint(value: unknown): UnsignedInt {
  if (value instanceof UnsignedInt) return value;
  const isText = typeof value === "string" && /^\d{1,20}$/.test(value);
  const isNumber = typeof value === "bigint" || (typeof value === "number" && Number.isFinite(value));
  if (!isText && !isNumber) throw inconvertible("uint", value);
  const integer = BigInt(typeof value === "number" ? Math.trunc(value) : value);
  if (integer < 0n || integer > largestUnsigned) throw new Error(`uint(): ${integer} does not fit into 64 bits`);
  return new UnsignedInt(integer);
}

// "+Inf" and "Infinity" are the same to Go, in any case.
const notFinite: readonly (readonly [RegExp, number])[] = [
  [/^\+?inf(?:inity)?$/i, Number.POSITIVE_INFINITY],
  [/^-inf(?:inity)?$/i, Number.NEGATIVE_INFINITY],
  [/^nan$/i, Number.NaN],
];

/** Texts are decimal, with or without fraction and exponent; one that no double comes near (`1e400`) is an error. */
function double(value: unknown): number {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value instanceof UnsignedInt) return Number(value.value);
  const text = String(value);
  const [, named] = notFinite.find(([shape]) => shape.test(text)) ?? [];
  if (named !== undefined) return named;
  const isDecimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  if (isDecimal && Number.isFinite(Number(text))) return Number(text);
  throw inconvertible("double", value);
}

// Every overload that the CEL library has, and int() of a timestamp, which it lacks.
const conversions = [
  ["int", int, ["int", "uint", "double", "string", "google.protobuf.Timestamp"]],
  ["uint", uint, ["int", "uint", "double", "string"]],
  ["double", double, ["int", "uint", "double", "string"]],
] as const;

export const numberFunctions: readonly LibraryFunction[] = conversions.flatMap(([name, call, types]) =>
  types.map((type): LibraryFunction => ({ signature: `${name}(${type}): ${name}`, call, replaces: true })),
);

/**
 * JSON does not tell 2 from 2.0, so that arithmetic must take both kinds of numbers at once. Not `%`, which CEL has for
 * integers only. An int beyond 2^53 is rounded to a double.
 */
// Handlers get both operands as numbers; division by zero is Infinity or NaN, as for doubles.
const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

/** The operators above in both orders of types, as signature and handler. */
export const mixedOperators = Object.entries(operations).flatMap(([operator, compute]) => {
  const call = (a: unknown, b: unknown): number => compute(Number(a), Number(b));
  return [
    [`int ${operator} double: double`, call],
    [`double ${operator} int: double`, call],
  ] as const;
});
