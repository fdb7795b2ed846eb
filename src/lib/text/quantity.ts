import { err, ok, type Result } from "#lib/base/index.ts";

/** How a quantity writes its suffix: `Ki Mi Gi`, `m k M G`, or `e3 e6`. */
export type QuantityFormat = "BinarySI" | "DecimalSI" | "DecimalExponent";

/** An exact amount in units of 1e-9, the finest that Kubernetes keeps. */
export interface Quantity {
  /** `1.5` is 1_500_000_000n. May be negative; as read it is within 2^63-1 units of zero, sums may leave that range. */
  readonly nano: bigint;
  /** How the amount was written, and is written again; says nothing about its value. */
  readonly format: QuantityFormat;
}

const nanoPerUnit = 1_000_000_000n;
/** Kubernetes clamps larger amounts to the largest 64 bit integer. */
const largestNano = (2n ** 63n - 1n) * nanoPerUnit;

const decimalExponents: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryExponents: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const shape = /^([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?$/;

/**
 * Reads a Kubernetes quantity: `1Gi`, `500m`, `1.5`, `2e3`, `-7k`. Digits finer than 1e-9 round away from zero, amounts
 * beyond 2^63-1 become 2^63-1, as in Kubernetes. Cost is linear in the length of the text.
 */
export function parseQuantity(text: string): Result<Quantity, string> {
  const match = text.length <= 64 ? shape.exec(text) : null;
  const whole = match?.[2] ?? "";
  const fraction = match?.[3] ?? "";
  if (match === null || whole + fraction === "") {
    return err(`expected a quantity such as 1Gi, 500m or 2, found ${JSON.stringify(shorten(text))}`);
  }
  const { power, format } = scaleOf(match[4], match[5] ?? "");
  const magnitude = scaleDigits(BigInt(whole + fraction), power, fraction.length);
  const nano = magnitude > largestNano ? largestNano : magnitude;
  return ok({ nano: match[1] === "-" ? -nano : nano, format });
}

/** What stands behind the digits: `Ki` is 2^10 in the binary form, `e-3` is 10^-3 in the exponent form. */
interface Scale {
  /** What the digits are multiplied with. */
  readonly power: { readonly base: 2n | 10n; readonly exponent: number };
  readonly format: QuantityFormat;
}

function scaleOf(exponent: string | undefined, suffix: string): Scale {
  if (exponent !== undefined) {
    // Beyond this range every number is zero or clamped; a huge power would only cost memory.
    const value = Math.max(-100, Math.min(100, Number(exponent.slice(1))));
    return { power: { base: 10n, exponent: value }, format: "DecimalExponent" };
  }
  const binary = binaryExponents[suffix];
  if (binary !== undefined) return { power: { base: 2n, exponent: binary }, format: "BinarySI" };
  return { power: { base: 10n, exponent: decimalExponents[suffix] ?? 0 }, format: "DecimalSI" };
}

/** `digits` x 10^-fractionDigits x power in nanos, rounded up: a limit is never lower than written. */
function scaleDigits(digits: bigint, power: Scale["power"], fractionDigits: number): bigint {
  const up = digits * nanoPerUnit * power.base ** BigInt(Math.max(0, power.exponent));
  const down = 10n ** BigInt(fractionDigits) * power.base ** BigInt(Math.max(0, -power.exponent));
  return (up + down - 1n) / down;
}

const shorten = (text: string): string => (text.length <= 64 ? text : `${text.slice(0, 64)}…`);

/** Negative, zero or positive, as for sorting. The format does not matter: `1Gi` equals `1073741824`. */
export const compareQuantities = (a: Quantity, b: Quantity): number => (a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0);

/** The amount as a number; exact up to 2^53 and within a double's precision beyond. */
export const quantityToNumber = (quantity: Quantity): number => {
  const whole = quantity.nano / nanoPerUnit;
  return Number(whole) + Number(quantity.nano % nanoPerUnit) / 1e9;
};

/** Kubernetes' canonical form: the largest suffix with an integer. Fractional or small binary amounts are decimal. */
export function formatQuantity(quantity: Quantity): string {
  const { nano } = quantity;
  if (nano === 0n) return "0";
  if (quantity.format === "BinarySI" && isBinary(nano)) return formatBinary(nano / nanoPerUnit);
  return formatDecimal(nano, quantity.format === "DecimalExponent");
}

const isBinary = (nano: bigint): boolean =>
  nano % nanoPerUnit === 0n && (nano >= 1024n * nanoPerUnit || nano <= -1024n * nanoPerUnit);

function formatBinary(units: bigint): string {
  const fitting = Object.entries(binaryExponents).filter(([, bits]) => units % 2n ** BigInt(bits) === 0n);
  const [suffix, bits] = fitting.at(-1) ?? ["", 0];
  return `${units / 2n ** BigInt(bits)}${suffix}`;
}

function formatDecimal(nano: bigint, asExponent: boolean): string {
  const fitting = Object.entries(decimalExponents).filter(([, digits]) => nano % 10n ** BigInt(digits + 9) === 0n);
  const [suffix, digits] = fitting.at(-1) ?? ["n", -9];
  const value = nano / 10n ** BigInt(digits + 9);
  if (!asExponent) return `${value}${suffix}`;
  return digits === 0 ? `${value}` : `${value}e${digits}`;
}
