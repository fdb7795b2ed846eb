import { compareQuantities, formatQuantity, parseQuantity, type Quantity } from "#lib/text/index.ts";
import type { TextValue } from "../values.ts";
import { asInt, asText, type LibraryFunction } from "./function.ts";

/** A Kubernetes quantity in an expression. */
export class CelQuantity implements TextValue {
  readonly #value: Quantity;

  constructor(value: Quantity) {
    this.#value = value;
  }

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
const isWhole = ({ nano }: Quantity): boolean => nano % nanoPerUnit === 0n;

function quantity(text: unknown): CelQuantity {
  const parsed = parseQuantity(asText(text));
  if (parsed.ok) return new CelQuantity(parsed.value);
  throw new Error(parsed.error);
}

function asInteger(value: unknown): bigint {
  const amount = amountOf(value);
  if (!isWhole(amount)) throw new Error(`the quantity ${formatQuantity(amount)} is not an integer`);
  return amount.nano / nanoPerUnit;
}

/** A plain int counts whole units. */
const nanoOf = (value: unknown): bigint =>
  typeof value === "bigint" ? asInt(value) * nanoPerUnit : amountOf(value).nano;

const plus = (value: unknown, nano: bigint): CelQuantity => {
  const amount = amountOf(value);
  return new CelQuantity({ nano: amount.nano + nano, format: amount.format });
};

const add = (a: unknown, b: unknown): CelQuantity => plus(a, nanoOf(b));
const subtract = (a: unknown, b: unknown): CelQuantity => plus(a, -nanoOf(b));
const compare = (a: unknown, b: unknown): number => compareQuantities(amountOf(a), amountOf(b));
const type = "kubernetes.Quantity";

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

const zero: Quantity = { nano: 0n, format: "DecimalSI" };

export const isSameQuantity = (a: unknown, b: unknown): boolean => compare(a, b) === 0;
