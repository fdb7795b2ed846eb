import { UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import type { LibraryFunction } from "./function.ts";

const largest = 2n ** 63n - 1n;
const smallest = -(2n ** 63n);

function checked(value: bigint): bigint {
  if (value >= smallest && value <= largest) return value;
  throw new Error(`int(): ${value} does not fit into 64 bits`);
}

/** Texts are decimal with an optional sign; the CEL library also takes the empty text and other bases. */
function int(value: unknown): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof UnsignedInt) return checked(value.value);
  if (value instanceof Date) return BigInt(Math.floor(value.getTime() / 1000));
  if (typeof value === "number" && Number.isFinite(value)) return checked(BigInt(Math.trunc(value)));
  if (typeof value === "string" && /^[+-]?\d{1,19}$/.test(value)) return checked(BigInt(value.replace(/^\+/, "")));
  throw new Error(`int(): cannot convert ${JSON.stringify(String(value))}`);
}

const types = ["int", "uint", "double", "string", "google.protobuf.Timestamp"];

export const numberFunctions: readonly LibraryFunction[] = types.map((type) => ({
  signature: `int(${type}): int`,
  call: int,
  replaces: true,
}));

/** JSON does not tell 2 from 2.0, so that arithmetic must take both kinds of numbers at once. */
const operations: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
};

export const mixedOperators = Object.entries(operations).flatMap(([operator, compute]) => {
  const call = (a: unknown, b: unknown): number => compute(Number(a), Number(b));
  return [
    [`int ${operator} double: double`, call],
    [`double ${operator} int: double`, call],
  ] as const;
});
