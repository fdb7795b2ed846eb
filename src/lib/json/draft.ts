import { err, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { formatPointer, parseArrayIndex, type PointerTokens } from "./pointer.ts";

/** A node that may be edited: only owned copies are seen through this type. */
type Container = Record<string, JsonValue | undefined> | JsonValue[];

/** A place that does not exist or cannot take the change, in words that follow `operation N at "/path": `. */
export type DraftRefusal = string;

// Why not copy the path for every operation: a patch of 10,000 additions to one list of 50,000 items would copy the
// list 10,000 times. Why not copy the whole document first: most patches touch three members of a large object.

/** A document under edit: each node is copied at most once, when first edited; the original never changes. */
export class Draft {
  #root: JsonValue;
  /** Nodes this draft made itself and that nobody else can see. */
  readonly #owned = new WeakSet<object>();

  #shifted = 0;

  constructor(root: JsonValue) {
    this.#root = root;
  }

  /** Items moved by insertions and removals so far: 250 insertions before a million items move 250 million. */
  get shifted(): number {
    return this.#shifted;
  }

  /** The document as edited so far. Later edits change it in place, so take it when the last edit is done. */
  get root(): JsonValue {
    return this.#root;
  }

  /** RFC 6902 4.1: sets a member, inserts an item in front of an index, or appends it at `-` or at the length. */
  add(path: PointerTokens, value: JsonValue): Result<void, DraftRefusal> {
    return this.#edit(path, value, (parent, token) => {
      if (!Array.isArray(parent)) return ok(setMember(parent, token, value));
      const index = token === "-" ? parent.length : parseArrayIndex(token);
      if (index === undefined) return err(badIndex(token));
      if (index > parent.length) return err(`index ${index} is beyond the end of an array of ${parent.length}`);
      this.#shifted += parent.length - index;
      parent.splice(index, 0, value);
      return ok(undefined);
    });
  }

  /** RFC 6902 4.3: like `add`, but the target must exist and an item takes the place of the old one. */
  replace(path: PointerTokens, value: JsonValue): Result<void, DraftRefusal> {
    return this.#edit(path, value, (parent, token) => {
      const missing = absence(parent, token);
      if (missing !== undefined) return err(missing);
      if (Array.isArray(parent)) parent[Number(token)] = value;
      else setMember(parent, token, value);
      return ok(undefined);
    });
  }

  /** RFC 6902 4.2: the target must exist; the items behind it move up. Costs the length of the array. */
  remove(path: PointerTokens): Result<void, DraftRefusal> {
    if (path.length === 0) return err("the whole document cannot be removed");
    return this.#edit(path, null, (parent, token) => {
      const missing = absence(parent, token);
      if (missing !== undefined) return err(missing);
      if (Array.isArray(parent)) {
        this.#shifted += parent.length - Number(token);
        parent.splice(Number(token), 1);
      } else {
        delete parent[token];
      }
      return ok(undefined);
    });
  }

  /** Runs `edit` on an owned copy of the container of the path's last token; the empty path replaces the root. */
  #edit(
    path: PointerTokens,
    whole: JsonValue,
    edit: (parent: Container, token: string) => Result<void, DraftRefusal>,
  ): Result<void, DraftRefusal> {
    const last = path.at(-1);
    if (last === undefined) {
      this.#root = whole;
      return ok(undefined);
    }
    const root = this.#own(this.#root);
    if (root === undefined) return err(notContainer([]));
    this.#root = asValue(root);
    let parent = root;
    for (let depth = 0; depth < path.length - 1; depth += 1) {
      const child = this.#ownChild(parent, path, depth);
      if (!child.ok) return child;
      parent = child.value;
    }
    return edit(parent, last);
  }

  /** The container one token further down, as a copy that belongs to this draft and hangs in its owned parent. */
  #ownChild(parent: Container, path: PointerTokens, depth: number): Result<Container, DraftRefusal> {
    const token = path[depth] ?? "";
    const missing = absence(parent, token);
    if (missing !== undefined) return err(`${JSON.stringify(formatPointer(path.slice(0, depth + 1)))}: ${missing}`);
    const child = Array.isArray(parent) ? parent[Number(token)] : parent[token];
    const owned = child === undefined ? undefined : this.#own(child);
    if (owned === undefined) return err(notContainer(path.slice(0, depth + 1)));
    if (Array.isArray(parent)) parent[Number(token)] = asValue(owned);
    else setMember(parent, token, asValue(owned));
    return ok(owned);
  }

  /** The value itself when this draft made it, else a shallow copy; undefined for scalars, which hold nothing. */
  #own(value: JsonValue): Container | undefined {
    if (typeof value !== "object" || value === null) return undefined;
    // Owned nodes were made below, as mutable copies.
    if (this.#owned.has(value)) return value as Container;
    const copy: Container = isArray(value) ? [...value] : { ...value };
    this.#owned.add(copy);
    return copy;
  }
}

/** Sets an own member; assignment would run the setter of `__proto__`. */
function setMember(object: Record<string, JsonValue | undefined>, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Why a token names no existing value of a container, or undefined when it does. */
function absence(parent: Container, token: string): DraftRefusal | undefined {
  if (!Array.isArray(parent)) {
    return Object.hasOwn(parent, token) && parent[token] !== undefined ? undefined : "there is no such value";
  }
  const index = parseArrayIndex(token);
  if (index === undefined) return badIndex(token);
  return index < parent.length ? undefined : `the array has no index ${token}`;
}

const badIndex = (token: string): DraftRefusal =>
  token === "-" ? `"-" names no existing item` : `${JSON.stringify(token)} is not an array index`;
const notContainer = (path: PointerTokens): DraftRefusal =>
  `${JSON.stringify(formatPointer(path))} is not an object or an array`;
const asValue = (container: Container): JsonValue => container;
const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
