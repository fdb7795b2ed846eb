import { type DecodedRecord, type DecodedValue, decodeKey, decodeRecord, decodeValue, readRevision } from "./codec.ts";
import type { Disk } from "./disk.ts";
import { loadEntry, type StoredEntry } from "./entry.ts";
import { nameOf, storeCorrupt } from "./errors.ts";
import { Image } from "./image.ts";
import type { IndexDefinition } from "./extra-index.ts";
import { ObjectCache } from "./object-cache.ts";
import { EventRing, type StoredEvent } from "./ring.ts";
import { Slab } from "./slab.ts";
import type { StoreState } from "./state.ts";
import type { StoreKey } from "./store.ts";

/**
 * Builds the memory image from the disk and proves on the way that the two tables and the revision agree: every retained
 * revision has its record, no object is newer than the revision, and the last record of each object is its stored state.
 * Throws `store-corrupt` otherwise. Objects stay bytes until somebody asks for them.
 */
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
  loadObjects(disk, state);
  loadLog(disk, state);
  return state;
}

/** One entry per object, its bytes copied out of the database's pages, which the next row overwrites. */
function loadObjects(disk: Disk, state: StoreState): void {
  for (const row of disk.objects()) {
    const [key, value] = [decodeKey(row.key), decodeValue(row.value)];
    if (value.revision > state.revision || value.createRevision > value.revision) {
      throw storeCorrupt(`${nameOf(key)} has revision ${value.revision}, the store only ${state.revision}`);
    }
    const slot = state.image.ensure(key.group, key.resource).ensure(key);
    const entry = loadEntry(key, value, state.cache, state.slab);
    slot.head = entry;
    state.image.publish(slot, entry, value.revision);
  }
}

/**
 * One pass in order of revision, so that each event finds its object's state before it among the records already read.
 * O(records), and no JSON is parsed but metadata.
 */
function loadLog(disk: Disk, state: StoreState): void {
  // Records below the compacted revision are there because a retained event has them as its previous state.
  const byRevision = new Map<number, StoredEntry>();
  let expected = state.compacted + 1;
  for (const row of disk.records()) {
    const [revision, record] = [readRevision(row.key, 0), decodeRecord(row.value)];
    if (record.value.revision !== revision)
      throw storeCorrupt(`record ${revision} holds revision ${record.value.revision}`);
    const entry = entryOf(record.key, record.value, state);
    if (revision > state.compacted) {
      if (revision !== expected) throw storeCorrupt(`the record of revision ${expected} is missing`);
      expected++;
      pushEvent(eventOf(record, entry, byRevision, state), state);
    }
    byRevision.set(revision, entry);
  }
  if (expected !== state.revision + 1) {
    throw storeCorrupt(`the last record is of revision ${expected - 1}, the store's revision is ${state.revision}`);
  }
  assertLatest(state);
}

/** The object's own entry when the record holds its current state, so that its bytes are in memory once. */
function entryOf(key: StoreKey, value: DecodedValue, state: StoreState): StoredEntry {
  const current = state.image.find(key.group, key.resource)?.get(key.namespace, key.name)?.published;
  return current?.revision === value.revision
    ? current
    : loadEntry(current?.key ?? key, value, state.cache, state.slab);
}

/** An event is complete when its previous state is exactly the revision its record names: in the log, or inlined in the record. */
function eventOf(
  record: DecodedRecord,
  entry: StoredEntry,
  byRevision: ReadonlyMap<number, StoredEntry>,
  state: StoreState,
): StoredEvent {
  const { type, prevRevision, key, inlined } = record;
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

/** After its last retained event an object must be exactly what that event says. */
function assertLatest(state: StoreState): void {
  const latest = new Map<string, StoredEvent>();
  for (const image of state.image.collections()) {
    latest.clear();
    for (const event of image.ring.after(state.compacted)) {
      latest.set(`${event.entry.key.namespace}\0${event.entry.key.name}`, event);
    }
    for (const [id, { type, revision, entry }] of latest) {
      const stored = image.slots.get(id)?.published;
      const agrees = type === "delete" ? stored === undefined : stored?.revision === revision;
      if (!agrees) throw storeCorrupt(`${nameOf(entry.key)} is not in the state of its last record, ${revision}`);
    }
    for (const slot of image.slots.values()) {
      if (slot.headRevision === 0 && (slot.published?.revision ?? 0) > state.compacted && !latest.has(slot.id)) {
        throw storeCorrupt(`${nameOf(slot.key)} has no record of its revision ${slot.published?.revision}`);
      }
    }
  }
}
