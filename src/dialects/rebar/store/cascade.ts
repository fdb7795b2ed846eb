import { inParallel, jsonEquals, messageOf, type Millis, sleep } from "#lib/base/index.ts";
import { collections } from "../kinds.ts";
import { availability } from "../model/availability.ts";
import { dependants } from "../model/dependants.ts";
import type { Collection, Machine, ObjectOf } from "../objects.ts";
import { settled } from "../rules/machine.ts";
import { internal } from "./events.ts";
import { templateErrors } from "./judge.ts";
import { changing, type Parts } from "./parts.ts";

export interface ObjectKey {
  readonly collection: Collection;
  readonly key: string;
}

/** Machines are many; a write waits for the disk. */
const atOnce = 32;
/** After a failure. */
const repeatPause: Millis = 30_000;

/**
 * Judges anew what depends on changed objects, and what depends on that. Runs without a lock of the changed object:
 * each dependant is changed under its own.
 */
export async function cascade(parts: Parts, changed: readonly ObjectKey[]): Promise<void> {
  const found = changed.flatMap(({ collection, key }) => dependants(collection, key, parts.mirror));
  await cascadeFrom(parts, found);
}

async function cascadeFrom(parts: Parts, judged: readonly ObjectKey[]): Promise<void> {
  const due = new Map<Collection, Set<string>>();
  const add = ({ collection, key }: ObjectKey): void => {
    const keys = due.get(collection);
    if (keys === undefined) due.set(collection, new Set([key]));
    else keys.add(key);
  };
  judged.forEach(add);
  // Dependants come later in the order, except for nested profiles; each object changes its mind twice at most.
  for (let round = 0; due.size > 0 && round < 2 * collections.length; round++) {
    for (const collection of collections) {
      const keys = due.get(collection);
      if (keys === undefined) continue;
      due.delete(collection);
      for (const key of await refreshAll(parts, collection, [...keys]))
        dependants(collection, key, parts.mirror).forEach(add);
    }
  }
}

/** Returns the keys of those that have changed. */
async function refreshAll(parts: Parts, collection: Collection, keys: readonly string[]): Promise<readonly string[]> {
  const changed: string[] = [];
  const one = async (key: string): Promise<void> => {
    try {
      if (await refresh(parts, collection, key)) changed.push(key);
    } catch (thrown) {
      // The change that led here is done: its writer is not told of others' failures.
      parts.log.warn("an object was not judged anew", { collection, key, error: messageOf(thrown) });
      void sleep(parts.clock, repeatPause, parts.signal).then(
        () => cascadeFrom(parts, [{ collection, key }]),
        () => undefined,
      );
    }
  };
  await inParallel(keys, one, atOnce);
  return changed;
}

/** For a switch of bundles, which may change anything. */
export async function refreshEverything(parts: Parts): Promise<void> {
  for (const collection of collections) {
    if (collection === "jobs") continue;
    const keys = [...parts.mirror.table(collection).entries()].map(({ key }) => key);
    await refreshAll(parts, collection, [...new Set(keys)]);
  }
}

/** Brings what is computed of an object up to date. A machine that is not available does not run. */
async function refresh(parts: Parts, collection: Collection, key: string): Promise<boolean> {
  const table = parts.mirror.table(collection);
  const isRight = async (): Promise<boolean> => {
    const wire = table.entry(key)?.wire;
    return wire === undefined || jsonEquals(await rejudged(parts, collection, wire), wire);
  };
  if (await isRight()) return false;
  return await changing(parts, collection, key, async () => {
    const entry = table.entry(key);
    if (entry?.wire === undefined || entry.isEdited) return false;
    const next = await rejudged(parts, collection, entry.wire);
    if (jsonEquals(next, entry.wire)) return false;
    const { entry: after } = await parts.writer.replace(collection, entry, next, entry.records);
    parts.events.tell(collection, "save", after.wire ?? next, internal, entry.wire);
    return true;
  });
}

async function rejudged<C extends Collection>(parts: Parts, collection: C, wire: ObjectOf[C]): Promise<ObjectOf[C]> {
  if (collection === "machines") return settled(wire as Machine, wire as Machine, parts.mirror) as ObjectOf[C];
  if (collection === "jobs") return wire;
  const { Errors } = availability(collection, wire, parts.mirror);
  const all = [...Errors, ...(await templateErrors(parts, wire))];
  return { ...wire, Available: all.length === 0, Errors: all };
}
