import { deepFreeze, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type DecodedValue, encodeValue } from "./codec.ts";
import { type Metadata, scanMetadata } from "./metadata.ts";
import { type CacheSlot, type ObjectCache, parsedPerByte } from "./object-cache.ts";
import { ownCopy, type Space } from "./slab.ts";
import { type Parts, withRevision } from "./object-bytes.ts";
import type { Entry, StoreKey } from "./store.ts";

interface Fresh {
  readonly source: JsonObject;
  readonly parts: Parts;
  readonly prunedBy: object | undefined;
}

/** The cache may drop the parsed form; other values never change. */
export class StoredEntry implements Entry, CacheSlot {
  readonly key: StoreKey;
  readonly createRevision: number;
  readonly revision: number;
  bytes: Buffer;
  readonly cost: number;
  readonly prunedBy: object | undefined;
  older: CacheSlot | undefined;
  younger: CacheSlot | undefined;
  readonly #cache: ObjectCache;
  /** Read from the bytes when first needed. */
  #meta: Metadata | undefined;
  /** The object the bytes were made from, not frozen; kept until the answer. */
  #source: JsonObject | undefined;
  #object: JsonObject | undefined;
  #parts: Parts | undefined;

  constructor(
    key: StoreKey,
    createRevision: number,
    revision: number,
    bytes: Buffer,
    meta: Metadata | undefined,
    cache: ObjectCache,
    fresh?: Fresh,
  ) {
    this.key = key;
    this.createRevision = createRevision;
    this.revision = revision;
    this.bytes = bytes;
    this.cost = bytes.length * parsedPerByte;
    this.prunedBy = fresh?.prunedBy;
    this.older = undefined;
    this.younger = undefined;
    this.#cache = cache;
    this.#meta = meta;
    this.#source = fresh?.source;
    this.#object = undefined;
    this.#parts = fresh?.parts;
  }

  get meta(): Metadata {
    this.#meta ??= scanMetadata(this.bytes);
    return this.#meta;
  }

  get uid(): string {
    return this.meta.uid;
  }

  get labels(): Readonly<Record<string, string>> {
    return this.meta.labels;
  }

  get owners(): readonly string[] {
    return this.meta.owners;
  }

  get created(): string {
    return this.meta.created;
  }

  get terminating(): boolean {
    return this.meta.terminating;
  }

  object(): JsonObject {
    // Local, because the cache drops an object larger than itself at once.
    const object = this.#object ?? this.#build();
    this.#object = object;
    this.#cache.touch(this);
    return object;
  }

  get parsed(): JsonObject | undefined {
    return this.#object;
  }

  /** Undefined for entries from disk and outdated ones; the next write encodes everything. */
  get parts(): Parts | undefined {
    return this.#parts;
  }

  outdate(): void {
    this.#parts = undefined;
  }

  forget(): void {
    this.#object = undefined;
  }

  /** Drops the source: readers usually ask right away, and the garbage collector moves what is kept longer. */
  settle(): void {
    this.#source = undefined;
  }

  /** No longer current: leaves the cache's space to current objects. */
  retire(): void {
    this.#cache.drop(this);
  }

  /** Copies the bytes out of their slab. */
  moveOut(): void {
    this.bytes = ownCopy(this.bytes);
  }

  // Frozen only when needed: freezing costs as much as the rest of a write.
  #build(): JsonObject {
    const source = this.#source;
    this.#source = undefined;
    if (source !== undefined && freezeExact(source)) return source;
    return deepFreeze(parseObject(this.bytes));
  }
}

/** False when JSON would not give back this value (undefined, not finite): readers must see what is stored. */
function freezeExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null || Object.isFrozen(value)) return true;
  Object.freeze(value);
  if (Array.isArray(value)) return value.every(freezeExact);
  for (const name of Object.keys(value)) if (!freezeExact(Reflect.get(value, name))) return false;
  return true;
}

function parseObject(bytes: Buffer): JsonObject {
  const parsed: unknown = JSON.parse(bytes.toString("utf8"));
  if (!isJsonObject(parsed)) throw new Error("a stored object is not a JSON object");
  return parsed;
}

export const loadEntry = (key: StoreKey, value: DecodedValue, cache: ObjectCache, space: Space): StoredEntry =>
  new StoredEntry(
    key,
    value.createRevision,
    value.revision,
    withRevision(value.json, value.revision, space),
    undefined,
    cache,
  );

export const valueOf = (entry: StoredEntry): Buffer => encodeValue(entry.createRevision, entry.revision, entry.bytes);
