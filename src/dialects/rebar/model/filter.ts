import { err, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { compileRe2, type Re2 } from "#lib/text/index.ts";
import { type ModelError, refusal } from "../failure.ts";
import type { AnyObject, Collection, ObjectOf } from "../objects.ts";
import type { World } from "../world.ts";
import { findParam, type ParamOwner } from "../params/lookup.ts";
import { type Comparable, comparablesOf, type Index, indexesOf, isUnordered, readComparable } from "./indexes.ts";

export interface Listed<T> {
  readonly objects: readonly T[];
  /** Number of visible objects. */
  readonly total: number;
  /** Number of objects after filters, before offset and limit. */
  readonly filtered: number;
}

/** Query parameters that are not filters. */
const reserved = new Set(
  "sort reverse offset limit slim params decode aggregate compose force token range-only partial".split(" "),
);

const bad = (collection: Collection, text: string): Result<never, ModelError> =>
  err(refusal(406, "", collection, "", text));

/**
 * Filters, sorts and pages a collection. Repeated values of one filter are alternatives; different filters must all
 * match. The default order is by key. `isVisible` excludes objects the caller may not see from results and counts.
 */
export function listOf<C extends Collection>(
  world: World,
  collection: C,
  query: URLSearchParams,
  isVisible: (object: ObjectOf[C]) => boolean = () => true,
): Result<Listed<ObjectOf[C]>, ModelError> {
  const indexes = indexesOf(collection);
  const filters: Predicate[] = [];
  for (const name of new Set(query.keys())) {
    if (reserved.has(name)) continue;
    const made = filterOf(world, collection, indexes, name, query.getAll(name));
    if (!made.ok) return bad(collection, made.error);
    filters.push(made.value);
  }
  const order = orderOf(indexes, query.getAll("sort"));
  if (!order.ok) return bad(collection, order.error);
  const page = pageOf(query);
  if (!page.ok) return bad(collection, page.error);
  const all = world.all(collection).filter(isVisible);
  const kept = filters.length === 0 ? all : all.filter((object) => filters.every((holds) => holds(object)));
  const sorted = order.value === undefined ? kept : kept.toSorted(order.value);
  const directed = query.get("reverse") === "true" ? sorted.toReversed() : sorted;
  const objects = directed.slice(page.value.offset, page.value.offset + page.value.limit);
  return ok({ objects, total: all.length, filtered: kept.length });
}

type Predicate = (object: AnyObject) => boolean;

function filterOf(
  world: World,
  collection: Collection,
  indexes: Readonly<Record<string, Index>>,
  name: string,
  texts: readonly string[],
): Result<Predicate, string> {
  const readValues = valuesReader(world, collection, indexes, name);
  if (readValues === undefined) return err(`Filter not found: ${name}`);
  const tests: ((values: readonly Comparable[]) => boolean)[] = [];
  for (const text of texts) {
    const test = testOf(readValues.index, text);
    if (!test.ok) return err(`${name}: ${test.error}`);
    tests.push(test.value);
  }
  return ok((object) => {
    const values = readValues.of(object);
    return tests.some((test) => test(values));
  });
}

interface ValuesReader {
  readonly index: Pick<Index, "kind">;
  readonly of: (object: AnyObject) => readonly Comparable[];
}

const aText = { kind: "string" } as const;

/** Filters by index, by `Meta.key`, or by the aggregate value of a param. */
function valuesReader(
  world: World,
  collection: Collection,
  indexes: Readonly<Record<string, Index>>,
  name: string,
): ValuesReader | undefined {
  const index = Object.hasOwn(indexes, name) ? indexes[name] : undefined;
  if (index !== undefined) return { index, of: (object) => comparablesOf(index, object) };
  if (name.startsWith("Meta.")) {
    const key = name.slice("Meta.".length);
    return { index: aText, of: ({ Meta }) => (Object.hasOwn(Meta, key) ? [Meta[key] ?? ""] : []) };
  }
  if (!hasParams(collection) || world.get("params", name) === undefined) return undefined;
  return {
    index: aText,
    of: (object) => {
      const found = findParam(world, { collection, object } as ParamOwner, name);
      return found === undefined ? [] : [asText(found.value)];
    },
  };
}

const hasParams = (collection: Collection): collection is ParamOwner["collection"] =>
  collection === "machines" || collection === "stages" || collection === "profiles";

const asText = (value: JsonValue): string => (typeof value === "string" ? value : canonicalJson(value));

type Test = (values: readonly Comparable[]) => boolean;

const operators: Readonly<Record<string, (values: readonly Comparable[], wanted: readonly Comparable[]) => boolean>> = {
  Eq: (values, [wanted]) => values.some((value) => value === wanted),
  Ne: (values, [wanted]) => values.every((value) => value !== wanted),
  Lt: (values, [wanted]) => values.some((value) => wanted !== undefined && value < wanted),
  Lte: (values, [wanted]) => values.some((value) => wanted !== undefined && value <= wanted),
  Gt: (values, [wanted]) => values.some((value) => wanted !== undefined && value > wanted),
  Gte: (values, [wanted]) => values.some((value) => wanted !== undefined && value >= wanted),
  Between: (values, wanted) => values.some((value) => isBetween(value, wanted)),
  Except: (values, wanted) => values.some((value) => !isBetween(value, wanted)),
  In: (values, wanted) => values.some((value) => wanted.includes(value)),
  Nin: (values, wanted) => values.every((value) => !wanted.includes(value)),
};
const pairs = new Set(["Between", "Except"]);
const lists = new Set(["In", "Nin"]);

const isBetween = (value: Comparable, [low, high]: readonly Comparable[]): boolean =>
  low !== undefined && high !== undefined && low <= value && value <= high;

function testOf({ kind }: Pick<Index, "kind">, text: string): Result<Test, string> {
  const call = /^([A-Z][a-z]+)\((.*)\)$/s.exec(text);
  const [, name = "Eq", args = text] = call ?? [];
  if (name === "Re") return patternTest(args);
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  // An unknown operator is part of a literal value.
  if (operator === undefined)
    return readComparable(kind, text).ok ? testOf({ kind }, `Eq(${text})`) : err(`unknown operator ${name}`);
  const parts = pairs.has(name) || lists.has(name) ? args.split(",").map((part) => part.trim()) : [args];
  if (pairs.has(name) && parts.length !== 2) return err(`${name} takes two values, found ${parts.length}`);
  const wanted: Comparable[] = [];
  for (const part of parts) {
    const read = readComparable(kind, part);
    if (!read.ok) return read;
    wanted.push(read.value);
  }
  return ok((values) => operator(values, wanted));
}

/** Longer values never match: matching is linear in the length, for every object. */
const longestMatched = 10_000;

function patternTest(pattern: string): Result<Test, string> {
  const compiled: Result<Re2, string> = compileRe2(pattern);
  if (!compiled.ok) return compiled;
  const { value: re2 } = compiled;
  return ok((values) => values.some((value) => String(value).length <= longestMatched && re2.test(String(value))));
}

function orderOf(
  indexes: Readonly<Record<string, Index>>,
  names: readonly string[],
): Result<((a: AnyObject, b: AnyObject) => number) | undefined, string> {
  const sorts: Index[] = [];
  for (const name of names) {
    const index = Object.hasOwn(indexes, name) ? indexes[name] : undefined;
    if (index === undefined || isUnordered(index)) return err(`Not sortable: ${name}`);
    sorts.push(index);
  }
  if (sorts.length === 0) return ok(undefined);
  return ok((a, b) => {
    for (const index of sorts) {
      const order = compare(comparablesOf(index, a)[0], comparablesOf(index, b)[0]);
      if (order !== 0) return order;
    }
    return 0;
  });
}

const compare = (a: Comparable = "", b: Comparable = ""): number => (a < b ? -1 : a > b ? 1 : 0);

function pageOf(query: URLSearchParams): Result<{ readonly offset: number; readonly limit: number }, string> {
  const numbers = { offset: 0, limit: Number.MAX_SAFE_INTEGER };
  for (const name of ["offset", "limit"] as const) {
    const text = query.get(name);
    if (text === null) continue;
    if (!/^-?\d{1,15}$/.test(text)) return err(`${name}: expected a number, found ${JSON.stringify(text)}`);
    if (text.startsWith("-")) return err(`${name === "limit" ? "Limit" : "Offset"} cannot be negative`);
    numbers[name] = Number(text);
  }
  return ok(numbers);
}

/**
 * Applies `slim=Meta,Params` and `params=a,b` to an object, and sets `Partial` on slimmed objects that have the field.
 */
export function slimmed<T extends AnyObject>(object: T, query: URLSearchParams): T {
  const slim = (query.get("slim") ?? "").split(",");
  const wanted = query.get("params")?.split(",");
  const hasValues = "Params" in object;
  const dropsMeta = slim.includes("Meta");
  const dropsParams = hasValues && (slim.includes("Params") || wanted !== undefined);
  if (!dropsMeta && !dropsParams) return object;
  const values = hasValues && wanted !== undefined ? Object.entries(object.Params) : [];
  return {
    ...object,
    ...(dropsMeta ? { Meta: {} } : {}),
    ...(dropsParams ? { Params: Object.fromEntries(values.filter(([name]) => wanted?.includes(name))) } : {}),
    ...("Partial" in object ? { Partial: true } : {}),
  };
}

/** Finds an object by its key, or by `Index:value` with a unique index, such as `Name:m1.example`. */
export function findObject<C extends Collection>(world: World, collection: C, key: string): ObjectOf[C] | undefined {
  const direct = world.get(collection, key);
  const colon = key.indexOf(":");
  if (direct !== undefined || colon === -1) return direct;
  const name = key.slice(0, colon);
  const indexes = indexesOf(collection);
  const index = Object.hasOwn(indexes, name) ? indexes[name] : undefined;
  if (index === undefined || !index.isUnique) return undefined;
  const wanted = readComparable(index.kind, key.slice(colon + 1));
  if (!wanted.ok || wanted.value === "" || wanted.value === -1) return undefined;
  if (name === "Key") return world.get(collection, String(wanted.value));
  return world.all(collection).find((object) => comparablesOf(index, object).includes(wanted.value));
}
