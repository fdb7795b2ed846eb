import { type DecodedRecord, type DecodedValue, decodeRecord, decodeValue, parseKey, readRevision } from "./codec.ts";
import type { Disk } from "./disk.ts";
import { loadEntry, type StoredEntry } from "./entry.ts";
import { nameOf, storeCorrupt } from "./errors.ts";
import { idOf, Image, type IndexDefinition } from "./image.ts";
import { ObjectCache } from "./object-cache.ts";
import { EventRing, type StoredEvent } from "./ring.ts";
import { Slab } from "./slab.ts";
import type { StoreState } from "./state.ts";
import type { StoreKey } from "./store.ts";

/** Checks that the tables agree, else throws `store-corrupt`. Objects stay bytes until needed. */
export function loadState(disk: Disk, indexes: readonly IndexDefinition[], cacheBytes: number): StoreState {
  const { clusterUid, revision, compacted } = disk.meta;
  if (compacted > revision) throw storeCorrupt(`it is compacted to ${compacted}, beyond its revision ${revision}`);
  const state: StoreState = {
    image: new Image(indexes),
    ring: new EventRing(),
    cache: new ObjectCache(cacheBytes),
    slab: new Slab(),
    system: new Map(disk.system()),
    clusterUid,
    revision,
    compacted,
    head: revision,
  };
  loadLog(disk, state, loadObjects(disk, state));
  return state;
}

/** The shared key of everything about an object, and its state. */
interface Known {
  readonly key: StoreKey;
  readonly current: StoredEntry | undefined;
}

/** Copies each object's bytes out of the database's pages. Returns the entries by key text. */
function loadObjects(disk: Disk, state: StoreState): Map<string, Known> {
  const known = new Map<string, Known>();
  for (const row of disk.objects()) {
    const text = row.key.toString("utf8");
    const [key, value] = [parseKey(text), decodeValue(row.value)];
    if (value.revision > state.revision || value.createRevision > value.revision) {
      throw storeCorrupt(`${nameOf(key)} has revision ${value.revision}, the store only ${state.revision}`);
    }
    const slot = state.image.ensure(key.group, key.resource).ensure(key);
    const entry = loadEntry(key, value, state.cache, state.slab);
    slot.head = entry;
    state.image.publish(slot, entry, value.revision);
    known.set(text, { key, current: entry });
  }
  return known;
}

/** By revision, so each event finds its previous state. Parses no JSON. */
function loadLog(disk: Disk, state: StoreState, known: Map<string, Known>): void {
  // Records below the compacted revision are the previous states of retained events.
  const byRevision = new Map<number, StoredEntry>();
  let expected = state.compacted + 1;
  for (const row of disk.records()) {
    const [revision, record] = [readRevision(row.key, 0), decodeRecord(row.value)];
    if (record.value.revision !== revision)
      throw storeCorrupt(`record ${revision} holds revision ${record.value.revision}`);
    const object = objectOf(record, known);
    const entry = entryOf(object, record.value, state);
    if (revision > state.compacted) {
      if (revision !== expected) throw storeCorrupt(`the record of revision ${expected} is missing`);
      expected++;
      pushEvent(eventOf(object, record, entry, byRevision, state), state);
    }
    byRevision.set(revision, entry);
  }
  if (expected !== state.revision + 1) {
    throw storeCorrupt(`the last record is of revision ${expected - 1}, the store's revision is ${state.revision}`);
  }
  assertLatest(state);
}

/** A deleted object is known from its first record on. */
function objectOf(record: DecodedRecord, known: Map<string, Known>): Known {
  const text = record.key.toString("utf8");
  const object = known.get(text) ?? { key: parseKey(text), current: undefined };
  if (object.current === undefined) known.set(text, object);
  return object;
}

/** Shares the entry of the current state, so that its bytes are in memory once. */
const entryOf = ({ key, current }: Known, value: DecodedValue, state: StoreState): StoredEntry =>
  current?.revision === value.revision ? current : loadEntry(key, value, state.cache, state.slab);

/** An event needs exactly the previous revision its record names, from the log or inlined. */
function eventOf(
  { key }: Known,
  record: DecodedRecord,
  entry: StoredEntry,
  byRevision: ReadonlyMap<number, StoredEntry>,
  state: StoreState,
): StoredEvent {
  const { type, prevRevision, inlined } = record;
  const previous =
    inlined === undefined ? byRevision.get(prevRevision) : loadEntry(key, inlined, state.cache, state.slab);
  const complete = prevRevision === 0 ? type === "add" : type !== "add" && previous?.revision === prevRevision;
  if (!complete) throw storeCorrupt(`${nameOf(key)} has no record of its state before revision ${entry.revision}`);
  return { type, revision: entry.revision, entry, previous };
}

function pushEvent(event: StoredEvent, state: StoreState): void {
  const { group, resource } = event.entry.key;
  state.ring.push(event);
  state.image.ensure(group, resource).ring.push(event);
}

/** After its last retained event an object must be what that event says. */
function assertLatest(state: StoreState): void {
  const latest = new Map<StoreKey, StoredEvent>();
  for (const image of state.image.collections()) {
    latest.clear();
    for (const event of image.ring.after(state.compacted)) latest.set(event.entry.key, event);
    for (const [key, { type, revision, entry }] of latest) {
      const stored = image.slots.get(idOf(key.namespace, key.name))?.published;
      const agrees = type === "delete" ? stored === undefined : stored?.revision === revision;
      if (!agrees) throw storeCorrupt(`${nameOf(entry.key)} is not in the state of its last record, ${revision}`);
    }
    for (const slot of image.slots.values()) {
      if (slot.headRevision === 0 && (slot.published?.revision ?? 0) > state.compacted && !latest.has(slot.key)) {
        throw storeCorrupt(`${nameOf(slot.key)} has no record of its revision ${slot.published?.revision}`);
      }
    }
  }
}
