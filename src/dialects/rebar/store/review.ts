import { isJsonObject, type JsonObject, objectAt, textAt } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { collections, ContentBundle, kindOf, Preference } from "../kinds.ts";
import { type Collection, keyField } from "../objects.ts";
import type { World } from "../world.ts";
import { keptOf } from "./codec.ts";
import { features } from "../api/info.ts";
import { isPending, readContent } from "../bundles/content.ts";
import { judgeObjects } from "../bundles/judge-bundle.ts";
import { ThoughtWorld } from "../bundles/thought-world.ts";
import { judgeContent } from "./bundles.ts";
import { directEdit } from "./direct-edits.ts";
import { judgeChange, judgeNew } from "./judge.ts";
import { Mirror } from "./mirror.ts";

type Reading = Pick<ApiClient, "list">;

/** Everything but jobs, as it is stored now. Direct edits are rare: no copy is kept for them. */
export async function worldOf(client: Reading, namespace: string): Promise<World> {
  let world: World = await storedWorld(client, namespace);
  // Their objects will be there before those that need them are completed.
  for (const object of (await client.list(ContentBundle, { namespace })).items.filter(isPending)) {
    const read = readContent(isJsonObject(object.spec) ? object.spec : {});
    if (!read.ok) continue;
    const thought = new ThoughtWorld(world, { added: read.value.objects, gone: [], below: () => undefined });
    await judgeObjects(read.value.objects, thought, () => Promise.resolve([]));
    world = thought;
  }
  return world;
}

async function storedWorld(client: Reading, namespace: string): Promise<Mirror> {
  const mirror = new Mirror();
  for (const object of (await client.list(ContentBundle, { namespace })).items) mirror.putBundle(keptOf(object));
  for (const object of (await client.list(Preference, { namespace })).items) mirror.putPrefs(keptOf(object));
  for (const collection of collections) {
    if (collection === "jobs") continue;
    const { items } = await client.list<Stored>(kindOf[collection], { namespace });
    for (const object of items) mirror.put(collection, keptOf(object));
  }
  return mirror;
}

/** What is wrong with a bundle that a client wrote. Templates are looked at when it is loaded. */
export async function bundleErrors(object: JsonObject, client: Reading): Promise<readonly string[]> {
  const read = readContent(objectAt(object, "spec") ?? {});
  if (!read.ok) return read.error.Messages;
  const mirror = await storedWorld(client, textAt(object, "metadata", "namespace") ?? "");
  const judging = { mirror, features, renderer: undefined, random: () => 0 };
  return (await judgeContent(judging, read.value, false)).errors;
}

/** Throws what the rules refuse of a direct edit: with `status.before` a change, else a new object. */
export async function reviewRecord(collection: Collection, object: JsonObject, client: Reading): Promise<void> {
  const [spec, status] = [objectAt(object, "spec") ?? {}, objectAt(object, "status")];
  const before = objectAt(status, "before");
  // Of a write that leaves the spec as it is, or of an edit that is reviewed already.
  const isChange = status?.["writes"] !== undefined;
  if (isChange && before === undefined) return;
  const world = await worldOf(client, textAt(object, "metadata", "namespace") ?? "");
  const judging = { world, renderer: undefined, random: () => 0 };
  if (!isChange) await judgeNew(judging, collection, spec, directEdit);
  else {
    const old = world.get(collection, textAt(before, keyField(collection)) ?? "");
    if (old !== undefined) await judgeChange<Collection>(judging, collection, spec, old, directEdit);
  }
}
