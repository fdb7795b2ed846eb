import type { AnyObject, Collection } from "../objects.ts";
import { Refused } from "../failure.ts";
import { listOf, slimmed } from "../model/filter.ts";
import { keyOf } from "../model/read.ts";
import { type Answer, type Call, found, isSet } from "./call.ts";
import type { ApiParts } from "./parts.ts";
import { onWire } from "./wire.ts";

/** A list, filtered and paged. Callers who may not list get an empty one. */
export async function listObjects(parts: ApiParts, collection: Collection, call: Call): Promise<Answer> {
  const { store } = parts;
  const { caller } = call;
  const maySee = caller.may(collection, "list", "*")
    ? undefined
    : (object: AnyObject) => caller.may(collection, "list", keyOf(collection, object));
  const listed = listOf(store.world, collection, call.query, maySee);
  if (!listed.ok) throw new Refused(listed.error);
  const { objects, total, filtered } = listed.value;
  const shown = objects.map((object) => ({
    key: keyOf(collection, object),
    body: onWire(collection, slimmed(object, call.query)),
  }));
  const body = isSet(call.query, "decode")
    ? await Promise.all(shown.map((one) => parts.decoded(call, collection, one.key, one.body)))
    : shown.map((one) => one.body);
  return { ...found(body), headers: countsOf(total, filtered, objects.length) };
}

export const countsOf = (total: number, filtered: number, returned: number): Readonly<Record<string, string>> => ({
  "X-DRP-LIST-TOTAL-COUNT": String(total),
  "X-DRP-LIST-FILTER-COUNT": String(filtered),
  "X-DRP-LIST-COUNT": String(returned),
});

export const emptyList: Answer = { code: 200, body: [], headers: countsOf(0, 0, 0) };
