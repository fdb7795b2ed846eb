import { messageOf } from "#lib/base/index.ts";
import { isPending } from "../bundles/content.ts";
import { Refused } from "../failure.ts";
import { ContentBundle } from "../kinds.ts";
import type { Collection } from "../objects.ts";
import type { Write } from "../store.ts";
import { internal } from "./events.ts";
import { judgeChange, judgeNew } from "./judge.ts";
import type { Parts } from "./parts.ts";
import type { Entry } from "./table.ts";

/** Who edits objects directly has every right, except to change a locked machine. */
export const directEdit: Write = { by: { kind: "user", name: "kubernetes" }, mayReposition: true };

/**
 * Gives a direct edit its effects, or undoes one that is refused. The caller holds the object. Until then readers see
 * the object as it was.
 */
export async function completeEdit(parts: Parts, collection: Collection, entry: Entry): Promise<void> {
  if (!entry.isEdited) return;
  const { wire } = entry;
  try {
    if (wire === undefined) await admit(parts, collection, entry);
    else await change(parts, collection, entry);
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown;
    if (wire === undefined && (await isBundlePending(parts))) return;
    parts.log.warn("a direct edit was refused", { collection, key: entry.key, error: messageOf(thrown) });
    if (wire !== undefined) await parts.writer.replace(collection, entry, wire, entry.records);
    else await parts.writer.reject(collection, entry, thrown.body.Messages);
  }
}

/** What is missing may be in it: the object is looked at again when it is loaded. */
async function isBundlePending({ client, namespace }: Parts): Promise<boolean> {
  return (await client.list(ContentBundle, { namespace })).items.some(isPending);
}

async function admit(parts: Parts, collection: Collection, entry: Entry): Promise<void> {
  if (collection === "jobs") return;
  const made = await judgeNew(parts, collection, entry.object.spec, directEdit);
  const { entry: after } = await parts.writer.replace(collection, entry, made);
  parts.events.tell(collection, "create", after.wire ?? made, internal);
}

async function change(parts: Parts, collection: Collection, entry: Entry): Promise<void> {
  const { wire, object, records } = entry;
  if (wire === undefined) return;
  // Jobs change with their machine, objects of bundles with their bundle.
  const isFixed = collection === "jobs" || wire.ReadOnly;
  const next = isFixed ? wire : await judgeChange<Collection>(parts, collection, object.spec, wire, directEdit);
  const { entry: after } = await parts.writer.replace(collection, entry, next, records);
  if (next !== wire) parts.events.tell(collection, "update", after.wire ?? next, internal, wire);
}
