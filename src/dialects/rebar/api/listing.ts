import type { Collection } from "../objects.ts";
import { Refused } from "../failure.ts";
import { listOf } from "../model/filter.ts";
import { keyOf } from "../model/read.ts";
import type { World } from "../world.ts";
import { type Answer, type Call, found } from "./call.ts";
import type { ApiParts } from "./parts.ts";
import { onWire, shaped, shapeOf } from "./wire.ts";

/** A list, filtered and paged. Callers who may not list get an empty one. */
export async function listObjects(parts: ApiParts, collection: Collection, call: Call): Promise<Answer> {
  const { store, decoded } = parts;
  const visible = visibleTo(call, store.world, collection);
  const listed = listOf(visible, collection, call.query);
  if (!listed.ok) throw new Refused(listed.error);
  const { objects, total, filtered } = listed.value;
  const shape = shapeOf(call);
  const shown = objects.map((object) => shaped(collection, onWire(collection, object), shape));
  const body =
    shape?.isDecoded === true
      ? await Promise.all(
          objects.map((object, index) => decoded(call, collection, keyOf(collection, object), shown[index] ?? {})),
        )
      : shown;
  return { ...found(body), headers: countsOf(total, filtered, objects.length) };
}

export const countsOf = (total: number, filtered: number, returned: number): Readonly<Record<string, string>> => ({
  "X-DRP-LIST-TOTAL-COUNT": String(total),
  "X-DRP-LIST-FILTER-COUNT": String(filtered),
  "X-DRP-LIST-COUNT": String(returned),
});

export const emptyList: Answer = { code: 200, body: [], headers: countsOf(0, 0, 0) };

/** The world with those objects of the collection that the caller may list. */
function visibleTo({ caller }: Call, world: World, collection: Collection): World {
  if (caller.may(collection, "list", "*")) return world;
  return {
    get: (other, key) => world.get(other, key),
    all: (other) =>
      other === collection
        ? world.all(other).filter((object) => caller.may(collection, "list", keyOf(collection, object)))
        : world.all(other),
    prefs: world.prefs,
  };
}
