import type { JsonObject } from "#lib/base/index.ts";
import { alreadyExists, Refused, refusal } from "../failure.ts";
import { inUse } from "../model/dependants.ts";
import { keyOf } from "../model/read.ts";
import { type Collection, keyField, type ObjectOf } from "../objects.ts";
import type { Write } from "../store.ts";
import { cascade } from "./cascade.ts";
import { removeJob, updateJob, writeRecordsOf } from "./jobs.ts";
import { judgeChange, judgeNew } from "./judge.ts";
import { changing, missing, type Parts, refuse } from "./parts.ts";
import type { Entry } from "./table.ts";

export async function create<C extends Collection>(
  parts: Parts,
  collection: C,
  sent: JsonObject,
  write: Write,
): Promise<ObjectOf[C]> {
  if (collection === "jobs") throw new Refused(refusal(400, "", "jobs", "", "Jobs are created for a machine"));
  const { entry, object } = await parts.inTurn(`new ${collection}`, async () => {
    const judged = await judgeNew(parts, collection, sent, write);
    const key = keyOf(collection, judged);
    if (parts.mirror.get(collection, key) !== undefined) throw new Refused(alreadyExists(collection, key));
    return { object: judged, ...(await parts.writer.create(collection, judged)) };
  });
  const key = keyOf(collection, object);
  const made = entry.wire ?? object;
  parts.events.tell(collection, "create", made, write.by);
  await cascade(parts, [{ collection, key }]);
  return parts.mirror.get(collection, key) ?? made;
}

export async function update<C extends Collection>(
  parts: Parts,
  collection: C,
  key: string,
  change: (object: ObjectOf[C]) => JsonObject,
  write: Write,
): Promise<ObjectOf[C]> {
  if (collection === "jobs")
    return (await updateJob(parts, key, change as (object: ObjectOf["jobs"]) => JsonObject, write)) as ObjectOf[C];
  let isChanged = false;
  const object = await changing(parts, collection, key, async () => {
    const { entry, wire: old } = await editable(parts, collection, key);
    const sent = change(old);
    refuseKeyChange(collection, key, sent);
    const next = await judgeChange(parts, collection, sent, old, write);
    if (next === old) return old;
    const { entry: after } = await parts.writer.replace(collection, entry, next, entry.records);
    const made = after.wire ?? next;
    parts.events.tell(collection, "update", made, write.by, old);
    isChanged = true;
    return made;
  });
  if (!isChanged || collection === "machines") return object;
  await cascade(parts, [{ collection, key }]);
  return parts.mirror.get(collection, key) ?? object;
}

/** The writable object; what others have begun to change is completed first. */
export async function editable<C extends Collection>(
  parts: Parts,
  collection: C,
  key: string,
): Promise<{ readonly entry: Entry<C>; readonly wire: ObjectOf[C] }> {
  const table = parts.mirror.table(collection);
  if (table.entry(key)?.isEdited === true) await parts.complete(collection, key);
  const wire = table.get(key);
  if (wire === undefined) throw missing(collection, key);
  const entry = table.entry(key);
  if (wire.ReadOnly || entry === undefined) throw new Refused(refusal(403, "", collection, key, `readonly: ${key}`));
  return { entry, wire };
}

function refuseKeyChange(collection: Collection, key: string, sent: JsonObject): void {
  const field = keyField(collection);
  const name = field in sent ? field : Object.keys(sent).find((other) => other.toLowerCase() === field.toLowerCase());
  const wanted = name === undefined ? undefined : sent[name];
  if (typeof wanted !== "string" || wanted === "" || wanted === key) return;
  throw new Refused(refusal(400, "", collection, key, `Key change from ${key} to ${wanted} not allowed`));
}

export async function remove<C extends Collection>(
  parts: Parts,
  collection: C,
  key: string,
  write: Write,
): Promise<ObjectOf[C]> {
  if (collection === "jobs") return (await removeJob(parts, key, write)) as ObjectOf[C];
  const removed = await changing(parts, collection, key, async () => {
    const { entry, wire } = await editable(parts, collection, key);
    const isLocked = "Locked" in wire && wire.Locked && write.by.kind === "user";
    if (isLocked) throw new Refused(refusal(403, "", collection, key, "Locked"));
    refuse(inUse(collection, key, parts.mirror));
    // The machine's records are the only copies of its last jobs.
    if (collection === "machines") await writeRecordsOf(parts, entry.records);
    await parts.writer.remove(collection, entry);
    parts.events.tell(collection, "delete", wire, write.by);
    return wire;
  });
  if (collection !== "machines") await cascade(parts, [{ collection, key }]);
  return removed;
}
