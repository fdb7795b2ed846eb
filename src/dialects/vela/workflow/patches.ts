import { type JsonObject, objectAt, SlipwayError, textAt } from "#lib/base/index.ts";
import { patchNote } from "../ops/builtin.ts";
import { jsonHash } from "../revision/hash.ts";
import type { ContextStore } from "./context-store.ts";

// Steps export patches of components as notes in a ConfigMap, which other users of the namespace may edit. A patch
// decides what is applied with the rights of the application's writers, so it counts only with its digest in the
// status, which controllers alone write.

/** Undefined for a step that exported none. */
export function patchesDigest(store: ContextStore, step: string): string | undefined {
  const notes = store.notesWith(patchNote, step);
  return Object.keys(notes).length === 0 ? undefined : jsonHash(notes);
}

export interface Patch {
  readonly component: string;
  readonly value: JsonObject;
}

/**
 * The patches that a step exported, by the digest in its status. Rejects with `context-unreadable` if those of a
 * settled step have changed. Other notes are removed: a step that has not settled exports its patches again.
 */
export function exportedPatches(
  store: ContextStore,
  step: string,
  { digest, isSettled }: { readonly digest: string | undefined; readonly isSettled: boolean },
): readonly Patch[] {
  const notes = store.notesWith(patchNote, step);
  if (patchesDigest(store, step) !== digest) {
    if (isSettled && digest !== undefined)
      throw new SlipwayError("context-unreadable", `the patches of step ${step} were changed by another client`);
    store.removeNotes(step, Object.keys(notes));
    return [];
  }
  return Object.values(notes).flatMap((note) => {
    const [component, value] = [textAt(note, "component"), objectAt(note, "value")];
    return component === undefined || value === undefined ? [] : [{ component, value }];
  });
}
