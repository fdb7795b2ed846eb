import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import { asInteger, asList, isBytes, type LibraryFunction } from "./function.ts";

// Kubernetes' lists library. Its overloads are typed by the items; lists of JSON are `list<dyn>`, so that types are
// checked item by item when the function runs.

/** What items are compared as; items of different kinds have no order. Numbers of all three types are one kind. */
type Kind = "number" | "text" | "bool" | "time" | "duration" | "bytes";

function kindOf(value: unknown): Kind | undefined {
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number" || asInteger(value) !== undefined) return "number";
  if (value instanceof Date) return "time";
  if (value instanceof Duration) return "duration";
  return isBytes(value) ? "bytes" : undefined;
}

/** Something JavaScript orders as CEL does. It also orders a bigint and a number by their values. */
function orderable(value: unknown): string | number | bigint | boolean {
  if (value instanceof Date) return value.getTime();
  if (value instanceof Duration) return value.seconds * 1_000_000_000n + BigInt(value.nanos);
  if (isBytes(value)) return Array.from(value, (byte) => String.fromCharCode(byte)).join("");
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return asInteger(value) ?? 0n;
}

/** Whether `a` comes before `b`; false before true, times by the instant, bytes by their numbers. */
function isBefore(a: unknown, b: unknown): boolean {
  const kind = kindOf(a);
  if (kind === undefined || kindOf(b) === undefined) throw new Error("the list holds values that have no order");
  if (kind !== kindOf(b)) throw new Error("the list mixes values of different types");
  return orderable(a) < orderable(b);
}

/** Equal neighbours are sorted. Lists of none or one item are, whatever it is. */
function isSorted(list: unknown): boolean {
  const items = asList(list);
  return items.every((item, index) => index === 0 || !isBefore(item, items[index - 1]));
}

/** The first of the best. */
function extreme(list: unknown, isBetter: (candidate: unknown, best: unknown) => boolean): unknown {
  const [first, ...rest] = asList(list);
  if (first === undefined) throw new Error("min and max need a list that is not empty");
  return rest.reduce((best, item) => (isBetter(item, best) ? item : best), first);
}

/** The sum of an empty list is the integer 0; integers and doubles mixed give a double. */
function sum(list: unknown): unknown {
  return asList(list).reduce((total, item, index) => (index === 0 ? summand(item) : plus(total, summand(item))), 0n);
}

/** Refuses what has no sum even where nothing is added to it, as in a list of one item. */
function summand(value: unknown): unknown {
  const isSummable = kindOf(value) === "number" || value instanceof Duration;
  if (!isSummable) throw new Error("sum needs numbers or durations");
  return value;
}

/** Durations add to durations only; ints and uints stay what they are among themselves. */
function plus(a: unknown, b: unknown): unknown {
  if (a instanceof Duration || b instanceof Duration) {
    if (a instanceof Duration && b instanceof Duration) return a.addDuration(b);
    throw new Error("sum needs numbers or durations");
  }
  if (typeof a === "bigint" && typeof b === "bigint") return within(a + b, -(2n ** 63n), 2n ** 63n - 1n);
  if (a instanceof UnsignedInt && b instanceof UnsignedInt) {
    return new UnsignedInt(within(a.value + b.value, 0n, 2n ** 64n - 1n));
  }
  return Number(orderable(a)) + Number(orderable(b));
}

/** CEL's integers have 64 bits, and leaving them is an error. */
function within(value: bigint, smallest: bigint, largest: bigint): bigint {
  if (value < smallest || value > largest) throw new Error(`integer overflow: ${value}`);
  return value;
}

/** Equality as CEL's `==`: numbers by value, lists by their items, maps by their members whatever their order. */
function isSame(a: unknown, b: unknown): boolean {
  const kind = kindOf(a);
  if (kind !== undefined) return kind === kindOf(b) && isLevel(orderable(a), orderable(b));
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  const [left, right] = [membersOf(a), membersOf(b)];
  if (left === undefined || right === undefined) return a === b;
  return left.size === right.size && [...left].every(([key, value]) => right.has(key) && isSame(value, right.get(key)));
}

/** Equal also for 1n and 1, which `===` tells apart; they are the only kind with two types of JavaScript. */
const isLevel = (a: ReturnType<typeof orderable>, b: ReturnType<typeof orderable>): boolean =>
  typeof a === typeof b ? a === b : Number(a) === Number(b);

/** The members of a map, which is an object or a Map in CEL values; undefined for everything else. */
function membersOf(value: unknown): ReadonlyMap<unknown, unknown> | undefined {
  if (value instanceof Map) return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.getPrototypeOf(value) === Object.prototype ? new Map(Object.entries(value)) : undefined;
}

/** -1 for an item that is not there. */
const indexOf = (list: unknown, wanted: unknown): bigint =>
  BigInt(asList(list).findIndex((item) => isSame(item, wanted)));
const lastIndexOf = (list: unknown, wanted: unknown): bigint =>
  BigInt(asList(list).findLastIndex((item) => isSame(item, wanted)));

/** Kubernetes' newer `includes` is not among them: `in` says the same. */
export const listFunctions: readonly LibraryFunction[] = [
  { signature: "list.isSorted(): bool", call: isSorted },
  { signature: "list.sum(): dyn", call: sum },
  { signature: "list.min(): dyn", call: (list) => extreme(list, isBefore) },
  { signature: "list.max(): dyn", call: (list) => extreme(list, (item, best) => isBefore(best, item)) },
  { signature: "list.indexOf(dyn): int", call: indexOf, replaces: true },
  { signature: "list.lastIndexOf(dyn): int", call: lastIndexOf, replaces: true },
];
