import { type Instant, parseInstant } from "#lib/base/index.ts";
import { refuse } from "../http/index.ts";

// Lists scan the mirror: about 10 ms per 100,000 builds, and no index could serve the soft filters.

/** Null sorts last in ascending order, as in PostgreSQL. */
type Comparable = string | number | boolean | null;

export interface ListFields<T> {
  readonly orders: Readonly<Record<string, (item: T) => Comparable>>;
  /** Default order: descending by this name. */
  readonly usualOrder: string;
  readonly texts: Readonly<Record<string, (item: T) => string | null>>;
  readonly numbers?: Readonly<Record<string, (item: T) => number>>;
  readonly flags?: Readonly<Record<string, (item: T) => boolean>>;
  readonly times?: Readonly<Record<string, (item: T) => Instant | undefined>>;
  /** Parameters `xMatch`; `match` searches all of them. */
  readonly soft: readonly string[];
}

export interface Page<T> {
  readonly list: readonly T[];
  readonly totalCount: number;
}

/** Invalid parameters are refused by name. */
export function pageOf<T>(
  items: readonly T[],
  query: URLSearchParams,
  fields: ListFields<T>,
  isMore: (item: T) => boolean = () => true,
): Page<T> {
  const { limit, offset } = readWindow(query);
  const compare = readOrder(query.getAll("orderby"), fields);
  const tests = readFilters(query, fields);
  const found = items.filter((item) => isMore(item) && tests.every((test) => test(item))).sort(compare);
  return { list: limit > 0 ? found.slice(offset, offset + limit) : found, totalCount: found.length };
}

const usualLimit = 100;

/** An offset requires a limit. */
function readWindow(query: URLSearchParams): { readonly limit: number; readonly offset: number } {
  const limitText = query.get("limit");
  const limit = limitText === null ? usualLimit : limitText === "" ? 0 : intOf("limit", limitText);
  const offset = intOf("offset", query.get("offset") || "0");
  if (offset < 0) throw refuse("invalid-param", `offset: expected 0 or more, found ${offset}`);
  if (offset > 0 && limit <= 0) throw refuse("invalid-param", "offset: expected a limit above 0 beside it");
  return { limit, offset };
}

/** Signs are accepted as in the original. */
function intOf(name: string, text: string): number {
  const value = Number(text);
  if (/^[-+]?\d{1,15}$/.test(text)) return value;
  throw refuse("invalid-param", `${name}: expected a whole number, found ${JSON.stringify(text)}`);
}

type Compare<T> = (a: T, b: T) => number;

function readOrder<T>(texts: readonly string[], { orders, usualOrder }: ListFields<T>): Compare<T> {
  const all = (texts.length === 0 ? [`${usualOrder} desc`] : texts).map((text) => {
    const [field = "", direction = "", ...rest] = text.trim().split(/\s+/);
    const valueOf = Object.hasOwn(orders, field) ? orders[field] : undefined;
    const isDescending = direction.toLowerCase() === "desc";
    if (valueOf === undefined || rest.length > 0 || !(isDescending || direction.toLowerCase() === "asc")) {
      const known = Object.keys(orders).join(", ");
      const found = JSON.stringify(text);
      throw refuse("invalid-param", `orderby: expected a field (${known}) and asc or desc, found ${found}`, {
        parameter: "orderby",
      });
    }
    return (a: T, b: T) => compareValues(valueOf(a), valueOf(b)) * (isDescending ? -1 : 1);
  });
  return (a, b) => all.reduce((decided, compare) => decided || compare(a, b), 0);
}

function compareValues(a: Comparable, b: Comparable): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return a < b ? -1 : 1;
}

type Test<T> = (item: T) => boolean;

/** Unknown parameters are ignored as in the original. */
function readFilters<T>(query: URLSearchParams, fields: ListFields<T>): readonly Test<T>[] {
  return [
    ...textTests(query, fields),
    ...numberTests(query, fields),
    ...flagTests(query, fields),
    ...timeTests(query, fields),
    ...softTests(query, fields),
  ];
}

const textTests = <T>(query: URLSearchParams, { texts }: ListFields<T>): readonly Test<T>[] =>
  Object.entries(texts).flatMap(([name, valueOf]) => {
    const wanted = query.get(name);
    return wanted === null ? [] : [(item: T) => (valueOf(item) ?? "") === wanted];
  });

/** Empty is 0 as in the original. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^\d{0,15}$/.test(text)) return Number(text);
  throw refuse("invalid-param", `${name}: expected a whole number from 0, found ${JSON.stringify(text)}`);
}

const numberTests = <T>(query: URLSearchParams, { numbers = {} }: ListFields<T>): readonly Test<T>[] =>
  Object.entries(numbers).flatMap(([name, valueOf]) => {
    const wanted = numberIn(query, name);
    return wanted === undefined ? [] : [(item: T) => valueOf(item) === wanted];
  });

/** Values of Go's parser; empty is false. */
const flagTests = <T>(query: URLSearchParams, { flags = {} }: ListFields<T>): readonly Test<T>[] =>
  Object.entries(flags).flatMap(([name, valueOf]) => {
    const text = query.get(name);
    if (text === null) return [];
    if (!/^(?:true|false|1|0|)$/i.test(text))
      throw refuse("invalid-param", `${name}: expected true or false, found ${JSON.stringify(text)}`);
    const wanted = /^(?:true|1)$/i.test(text);
    return [(item: T) => valueOf(item) === wanted];
  });

/** Exclusive; missing times match neither. */
const timeTests = <T>(query: URLSearchParams, { times = {} }: ListFields<T>): readonly Test<T>[] =>
  Object.entries(times).flatMap(([name, valueOf]) =>
    (["After", "Before"] as const).flatMap((side) => {
      const text = query.get(`${name}${side}`) ?? "";
      if (text === "") return [];
      const limit = parseInstant(text);
      if (limit === undefined)
        throw refuse("invalid-param", `${name}${side}: expected a time of RFC 3339, found ${JSON.stringify(text)}`);
      return [
        (item: T) => {
          const at = valueOf(item);
          return at !== undefined && (side === "After" ? at > limit : at < limit);
        },
      ];
    }),
  );

function softTests<T>(query: URLSearchParams, { soft, texts }: ListFields<T>): readonly Test<T>[] {
  const holds = (name: string, wanted: string, item: T): boolean =>
    (texts[name]?.(item) ?? "").toLowerCase().includes(wanted);
  const single = soft.flatMap((name) => {
    const wanted = query.get(`${name}Match`) ?? "";
    if (wanted === "") return [];
    if (query.has(name)) throw refuse("invalid-param", `${name}Match: expected either ${name} or ${name}Match`);
    return [(item: T) => holds(name, wanted.toLowerCase(), item)];
  });
  const any = (query.get("match") ?? "").toLowerCase();
  return any === "" ? single : [...single, (item: T) => soft.some((name) => holds(name, any, item))];
}
