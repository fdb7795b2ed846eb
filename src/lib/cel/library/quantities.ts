import { compareQuantities, formatQuantity, parseQuantity, type Quantity } from "#lib/text/index.ts";
import type { TextValue } from "../values.ts";
import { asText, type LibraryFunction } from "./function.ts";

// Kubernetes' quantity library over the exact amounts of `lib/text`.

/** A Kubernetes quantity in an expression. Leaves it in its canonical form: `1.5Gi` as `1536Mi`. */
export class CelQuantity implements TextValue {
  readonly #value: Quantity;

  constructor(value: Quantity) {
    this.#value = value;
  }

  /** The amount behind a value of this class; the field is private so that expressions see no members. */
  static amountOf(value: unknown): Quantity {
    if (value instanceof CelQuantity) return value.#value;
    throw new Error("expected a quantity");
  }

  toText(): string {
    return formatQuantity(this.#value);
  }
}

const nanoPerUnit = 1_000_000_000n;
const amountOf = (value: unknown): Quantity => CelQuantity.amountOf(value);
/** Amounts that reading or arithmetic brought to the end of 64 bits are no integers in Kubernetes either. */
const largestInteger = 2n ** 63n - 1n;
const isWhole = ({ nano }: Quantity): boolean => {
  const units = nano / nanoPerUnit;
  return nano % nanoPerUnit === 0n && units < largestInteger && units > -largestInteger;
};

/** Throws the reader's message for a text that is none. */
function quantity(text: unknown): CelQuantity {
  const parsed = parseQuantity(asText(text));
  if (parsed.ok) return new CelQuantity(parsed.value);
  throw new Error(parsed.error);
}

/** Throws for a fraction, and for what does not fit into an int. */
function asInteger(value: unknown): bigint {
  const amount = amountOf(value);
  if (!isWhole(amount)) throw new Error(`the quantity ${formatQuantity(amount)} is not an integer`);
  return amount.nano / nanoPerUnit;
}

/** A plain int counts whole units. */
const addend = (value: unknown): Quantity =>
  typeof value === "bigint" ? { nano: value * nanoPerUnit, format: "DecimalSI" } : amountOf(value);

/** Zero has no format worth keeping: `quantity("0").add(quantity("1Gi"))` is `1Gi`, as in Kubernetes. */
function plus(value: unknown, other: Quantity, sign: bigint): CelQuantity {
  const amount = amountOf(value);
  const { format } = amount.nano === 0n ? other : amount;
  return new CelQuantity({ nano: amount.nano + sign * other.nano, format });
}

const add = (a: unknown, b: unknown): CelQuantity => plus(a, addend(b), 1n);
const subtract = (a: unknown, b: unknown): CelQuantity => plus(a, addend(b), -1n);
/** -1, 0 or 1. */
const compare = (a: unknown, b: unknown): number => compareQuantities(amountOf(a), amountOf(b));
const type = "kubernetes.Quantity";

/** Amounts are compared by methods, not `<`, as in Kubernetes. Sums may leave the range that can be read. */
export const quantityFunctions: readonly LibraryFunction[] = [
  { signature: `quantity(string): ${type}`, call: quantity },
  { signature: "isQuantity(string): bool", call: (text) => parseQuantity(asText(text)).ok },
  { signature: `${type}.isInteger(): bool`, call: (value) => isWhole(amountOf(value)) },
  { signature: `${type}.asInteger(): int`, call: asInteger },
  { signature: `${type}.asApproximateFloat(): double`, call: (value) => Number(amountOf(value).nano) / 1e9 },
  { signature: `${type}.sign(): int`, call: (value) => BigInt(compareQuantities(amountOf(value), zero)) },
  { signature: `${type}.add(${type}): ${type}`, call: add },
  { signature: `${type}.add(int): ${type}`, call: add },
  { signature: `${type}.sub(${type}): ${type}`, call: subtract },
  { signature: `${type}.sub(int): ${type}`, call: subtract },
  { signature: `${type}.compareTo(${type}): int`, call: (a, b) => BigInt(compare(a, b)) },
  { signature: `${type}.isGreaterThan(${type}): bool`, call: (a, b) => compare(a, b) > 0 },
  { signature: `${type}.isLessThan(${type}): bool`, call: (a, b) => compare(a, b) < 0 },
];

// What the sign of an amount is told by.
const zero: Quantity = { nano: 0n, format: "DecimalSI" };

/** By amount: `1k` equals `1000`. */
export const isSameQuantity = (a: unknown, b: unknown): boolean => compare(a, b) === 0;
