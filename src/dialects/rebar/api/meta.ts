import { isJsonObject } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { isCollection } from "../kinds.ts";
import { asJson } from "../model/read.ts";
import { readJson } from "./bodies.ts";
import { type Answer, type Call, found, isRead, noRoute, writeOf } from "./call.ts";
import { demandOn, objectFor, resolveKey } from "./collections.ts";
import type { ApiParts } from "./parts.ts";
import { patched, pointersOfPatch } from "./patching.ts";

/** `/meta/TYPE/KEY`: the metadata of an object alone. */
export async function answerMeta({ store }: ApiParts, call: Call): Promise<Answer> {
  const [, collection = "", ...rest] = call.path;
  if (!isCollection(collection) || rest.length === 0) throw noRoute(call);
  const { world } = store;
  const key = resolveKey(call, world, collection, rest.join("/"));
  if (isRead(call.method)) return found(objectFor(call, world, collection, key).Meta);
  if (call.method !== "PATCH") throw noRoute(call);
  const patch = await readJson(call);
  for (const pointer of pointersOfPatch(patch)) demandOn(call, world, collection, `update:/Meta${pointer}`, key);
  demandOn(call, world, collection, "get", key);
  const names = { model: collection, key, words: "Patch failed to apply" } as const;
  const next = await store.update(
    collection,
    key,
    (object) => {
      const Meta = patched(object.Meta, patch, names);
      if (!isJsonObject(Meta)) throw new Refused(refusal(409, "PATCH", collection, key, "metadata must be an object"));
      return { ...asJson(object), Meta };
    },
    writeOf(call, key),
  );
  return found(next.Meta);
}
