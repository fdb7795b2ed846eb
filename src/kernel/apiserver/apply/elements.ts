import { isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { canonicalJson, parseJson } from "#lib/json/index.ts";

// A step of a FieldsV1 path: `f:<name>` a member, `k:<JSON of key fields, sorted>` an item of a keyed list, `v:<JSON
// scalar>` an item of a set, `i:<n>` an item by position.

// A cache, because a concatenated text is slow as a key. Cleared when full.
const fieldElements = new Map<string, string>();
const maxFieldElements = 4096;

export function fieldElement(name: string): string {
  const known = fieldElements.get(name);
  if (known !== undefined) return known;
  const element = `f:${name}`;
  if (name.length > maxReadLength) return element;
  if (fieldElements.size >= maxFieldElements) fieldElements.clear();
  fieldElements.set(name, element);
  return element;
}

export const valueElement = (value: JsonValue): string => `v:${JSON.stringify(value)}`;
/** The name of an `f:` element; undefined for others. */
export const fieldNameOf = (element: string): string | undefined =>
  element.startsWith("f:") ? element.slice(2) : undefined;

/** `rank` orders the kinds; `canonical` is undefined for what is no element. */
interface ReadElement {
  readonly rank: number;
  readonly value: JsonValue;
  readonly canonical: string | undefined;
}

// A cache: the same few JSON keys and values occur in every write. Cleared when full.
const readElements = new Map<string, ReadElement>();
const maxReadElements = 4096;
const maxReadLength = 256;

function readElement(text: string): ReadElement {
  const known = readElements.get(text);
  if (known !== undefined) return known;
  const read = readAfresh(text);
  if (text.length > maxReadLength) return read;
  if (readElements.size >= maxReadElements) readElements.clear();
  readElements.set(text, read);
  return read;
}

/** `text` is no `f:` element. */
function readAfresh(text: string): ReadElement {
  const rank = "kvi".indexOf(text.slice(0, 1));
  const content = text.slice(2);
  const isPlace = rank === 2;
  const parsed = text[1] !== ":" || rank < 0 || isPlace ? undefined : parseJson(content);
  if (isPlace && text[1] === ":" && /^-?\d{1,15}$/.test(content)) {
    return { rank, value: Number(content), canonical: `i:${Number(content)}` };
  }
  if (parsed?.ok !== true) return { rank, value: null, canonical: undefined };
  return { rank, value: parsed.value, canonical: rank === 0 ? keySpelling(parsed.value) : valueElement(parsed.value) };
}

const keySpelling = (key: JsonValue): string | undefined =>
  isJsonObject(key) && Object.keys(key).length > 0 ? `k:${canonicalJson(key)}` : undefined;

const isField = (element: string): boolean => element.startsWith("f:");

/** The canonical spelling, or undefined: `k:{"b":1, "a":2}` -> `k:{"a":2,"b":1}`. */
export const canonicalElement = (text: string): string | undefined =>
  isField(text) ? text : readElement(text).canonical;

/** As conflicts print it: `.image`, `[name="c"]`, `[="x"]`, `[0]`. */
export function formatElement(element: string): string {
  const content = element.slice(2);
  if (element.startsWith("f:")) return `.${content}`;
  if (element.startsWith("v:")) return `[=${content}]`;
  if (element.startsWith("i:")) return `[${content}]`;
  const key = readElement(element).value;
  if (!isJsonObject(key)) return `[${content}]`;
  return `[${Object.entries(key)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",")}]`;
}

/** Kubernetes' order: members by name, then keyed items, values, positions; numbers by size. */
export function compareElements(a: string, b: string): number {
  if (isField(a) || isField(b)) return isField(a) && isField(b) ? compareTexts(a, b) : isField(a) ? -1 : 1;
  const [first, second] = [readElement(a), readElement(b)];
  return first.rank - second.rank || compareValues(first.value, second.value);
}

export function sortElements(elements: string[]): string[] {
  if (elements.length < 2) return elements;
  return elements.every(isField) ? elements.sort() : elements.sort(compareElements);
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const kindOf = (value: JsonValue): number => {
  if (typeof value === "number") return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (Array.isArray(value)) return 3;
  return value === null ? 5 : 4;
};

function compareValues(a: JsonValue, b: JsonValue): number {
  if (isJsonObject(a) && isJsonObject(b)) return compareKeys(Object.entries(a), Object.entries(b));
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  return kindOf(a) - kindOf(b);
}

type KeyField = readonly [string, JsonValue | undefined];

function compareKeys(a: readonly KeyField[], b: readonly KeyField[]): number {
  for (const [index, [name, value]] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = compareValues(name, other[0]) || compareValues(value ?? null, other[1] ?? null);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}
