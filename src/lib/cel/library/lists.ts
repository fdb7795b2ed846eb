import { Duration } from "@marcbachmann/cel-js/evaluator";
import { asList, type LibraryFunction } from "./function.ts";

type Ordered = string | number | bigint | boolean | Date | Duration;

function isOrdered(value: unknown): value is Ordered {
  const isPrimitive = ["string", "number", "bigint", "boolean"].includes(typeof value);
  return isPrimitive || value instanceof Date || value instanceof Duration;
}

/** Whether `a` comes before `b`; numbers of both kinds may be mixed, other types may not. */
function isBefore(a: unknown, b: unknown): boolean {
  const numeric = (value: unknown): boolean => typeof value === "bigint" || typeof value === "number";
  if (!isOrdered(a) || !isOrdered(b)) throw new Error("the list holds values that have no order");
  if (typeof a !== typeof b && !(numeric(a) && numeric(b))) throw new Error("the list mixes values of different types");
  return a < b;
}

function isSorted(list: unknown): boolean {
  const items = asList(list);
  return items.every((item, index) => index === 0 || !isBefore(item, items[index - 1]));
}

function extreme(list: unknown, isBetter: (candidate: unknown, best: unknown) => boolean): unknown {
  const [first, ...rest] = asList(list);
  if (first === undefined) throw new Error("min and max need a list that is not empty");
  return rest.reduce((best, item) => (isBetter(item, best) ? item : best), first);
}

/** The sum of an empty list is the integer 0. */
function sum(list: unknown): unknown {
  return asList(list).reduce((total, item) => {
    if (typeof total === "bigint" && typeof item === "bigint") return total + item;
    if (item instanceof Duration) return total instanceof Duration ? total.addDuration(item) : item;
    const isNumber = typeof item === "number" || typeof item === "bigint";
    if (!isNumber || total instanceof Duration) throw new Error("sum needs numbers or durations");
    return Number(total) + Number(item);
  }, 0n as unknown);
}

/** Equality of items as far as lists of scalars need it; numbers compare by value. */
const isSame = (a: unknown, b: unknown): boolean => {
  if (typeof a === "bigint" && typeof b === "number") return Number(a) === b;
  if (typeof a === "number" && typeof b === "bigint") return a === Number(b);
  if (isOrdered(a) && isOrdered(b) && typeof a === typeof b) return a.valueOf() === b.valueOf();
  return a === b;
};

const indexOf = (list: unknown, wanted: unknown): bigint =>
  BigInt(asList(list).findIndex((item) => isSame(item, wanted)));
const lastIndexOf = (list: unknown, wanted: unknown): bigint =>
  BigInt(asList(list).findLastIndex((item) => isSame(item, wanted)));

export const listFunctions: readonly LibraryFunction[] = [
  { signature: "list.isSorted(): bool", call: isSorted },
  { signature: "list.sum(): dyn", call: sum },
  { signature: "list.min(): dyn", call: (list) => extreme(list, isBefore) },
  { signature: "list.max(): dyn", call: (list) => extreme(list, (item, best) => isBefore(best, item)) },
  { signature: "list.indexOf(dyn): int", call: indexOf, replaces: true },
  { signature: "list.lastIndexOf(dyn): int", call: lastIndexOf, replaces: true },
];
