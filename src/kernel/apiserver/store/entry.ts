import { deepFreeze, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type DecodedValue, encodeValue } from "./codec.ts";
import { type Metadata, scanMetadata } from "./metadata.ts";
import { type CacheSlot, type ObjectCache, parsedPerByte } from "./object-cache.ts";
import { ownCopy, type Space } from "./slab.ts";
import { type Parts, withRevision } from "./object-bytes.ts";
import type { Entry, StoreKey } from "./store.ts";

/** What is known of an entry whose bytes have just been written. */
interface Fresh {
  readonly source: JsonObject;
  readonly parts: Parts;
  readonly prunedBy: object | undefined;
}

/** An Entry as the store keeps it. The parsed form comes and goes with the cache; everything else never changes its value. */
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
  /** Read from the bytes when first asked for: nobody may ever ask for that of a revision which only the log holds. */
  #meta: Metadata | undefined;
  /** The object this entry's bytes were made from, not frozen yet. Kept until its writer has been answered. */
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
    // Local, because an object larger than the whole cache is forgotten again at once.
    const object = this.#object ?? this.#build();
    this.#object = object;
    this.#cache.touch(this);
    return object;
  }

  /** The parsed form, if it is there. */
  get parsed(): JsonObject | undefined {
    return this.#object;
  }

  /** Undefined for an entry from the disk and for one that has been outdated: then a write makes all of its text anew. */
  get parts(): Parts | undefined {
    return this.#parts;
  }

  /** A later revision has been made from this one: where its parts stand is of no more use. */
  outdate(): void {
    this.#parts = undefined;
  }

  /** Called by the cache: the parsed form has to go. */
  forget(): void {
    this.#object = undefined;
  }

  /**
   * Lets go of the object it was written from: whoever asks for the parsed form usually does so when told of the event or
   * answered, and what is kept longer than that is moved about by the garbage collector.
   */
  settle(): void {
    this.#source = undefined;
  }

  /**
   * Called when this is not the current state, or no state, of an object and everybody was told: hardly anybody asks for its parsed
   * form again, and the cache would keep that, and the slab of its bytes, in place of a current one's.
   */
  retire(): void {
    this.#cache.drop(this);
  }

  /** Moves the bytes out of the slab they were written into, for an entry that stays while its neighbours go. */
  moveOut(): void {
    this.bytes = ownCopy(this.bytes);
  }

  // Freezing waits until somebody asks for the object: it costs as much as all the rest of a write.
  #build(): JsonObject {
    const source = this.#source;
    this.#source = undefined;
    if (source !== undefined && freezeExact(source)) return source;
    return deepFreeze(parseObject(this.bytes));
  }
}

/**
 * Freezes a value and says whether JSON would give back exactly this: members that are undefined or not finite make the
 * bytes differ from the object, and what readers see must be what is stored.
 */
function freezeExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null || Object.isFrozen(value)) return true;
  Object.freeze(value);
  if (Array.isArray(value)) return value.every(freezeExact);
  for (const name of Object.keys(value)) if (!freezeExact(Reflect.get(value, name))) return false;
  return true;
}

/** Bytes come from `objectText` or from a disk whose rows were scanned, so anything but an object is a bug. */
function parseObject(bytes: Buffer): JsonObject {
  const parsed: unknown = JSON.parse(bytes.toString("utf8"));
  if (!isJsonObject(parsed)) throw new Error("a stored object is not a JSON object");
  return parsed;
}

/**
 * An entry read from disk: bytes only, its metadata scanned and its object parsed when first asked for. The bytes are copied to
 * `space`.
 */
export const loadEntry = (key: StoreKey, value: DecodedValue, cache: ObjectCache, space: Space): StoredEntry =>
  new StoredEntry(
    key,
    value.createRevision,
    value.revision,
    withRevision(value.json, value.revision, space),
    undefined,
    cache,
  );

/** The value an entry has on disk. */
export const valueOf = (entry: StoredEntry): Buffer => encodeValue(entry.createRevision, entry.revision, entry.bytes);
