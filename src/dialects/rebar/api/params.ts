import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { asJson, keyOf } from "../model/read.ts";
import type { ObjectOf } from "../objects.ts";
import { aggregateParams, composeParam, findParam, type ParamOwner as OwnerInWorld } from "../params/lookup.ts";
import type { World } from "../world.ts";
import { readJson, readObjectBody } from "./bodies.ts";
import {
  type Answer,
  type Call,
  denied,
  found,
  isRead,
  isSet,
  listOfWords,
  noRoute,
  notFound,
  writeOf,
} from "./call.ts";
import { demandOn, objectFor } from "./collections.ts";
import type { ApiParts } from "./parts.ts";
import { patched, pointersOfPatch } from "./patching.ts";
import { type ParamOwner, picked } from "./wire.ts";

type Owner = ObjectOf[ParamOwner];

/** An object with its collection. */
export type Owned = OwnerInWorld;

/** `/P/K/params[/PKEY]`; names of params may contain slashes. */
export async function answerParams(
  parts: ApiParts,
  collection: ParamOwner,
  key: string,
  name: string,
  call: Call,
): Promise<Answer> {
  if (isRead(call.method)) return await readParams(parts, collection, key, name, call);
  if (call.method === "PATCH" && name === "") return await patchParams(parts, collection, key, call);
  if (call.method === "POST")
    return name === ""
      ? await replaceParams(parts, collection, key, call)
      : await setParam(parts, collection, key, name, call);
  if (call.method === "DELETE" && name !== "") return await removeParam(parts, collection, key, name, call);
  throw noRoute(call);
}

async function readParams(
  parts: ApiParts,
  collection: ParamOwner,
  key: string,
  name: string,
  call: Call,
): Promise<Answer> {
  const { query } = call;
  const { world } = parts.store;
  objectFor(call, world, collection, key);
  const owner = world.get(collection, key);
  if (owner === undefined) throw notFound(call.method, collection, key);
  const isAggregate = isSet(query, "aggregate");
  const isComposed = isSet(query, "compose");
  const owned = { collection, object: owner } as Owned;
  if (name !== "") {
    const value = isComposed
      ? composed(world, owned, name)
      : isAggregate
        ? findParam(world, owned, name)?.value
        : own(owner, name);
    if (value === undefined) return found(null);
    const shown = isSet(query, "decode")
      ? await decodeParams(parts, call, owned, { [name]: value })
      : { [name]: value };
    return found(shown[name] ?? null);
  }
  const all = isAggregate || isComposed ? aggregateParams(world, owned) : owner.Params;
  const names = listOfWords(query.get("params"));
  const chosen = names === undefined ? all : picked(all, names);
  return found(isSet(query, "decode") ? await decodeParams(parts, call, owned, chosen) : chosen);
}

const own = ({ Params }: Owner, name: string): JsonValue | undefined =>
  Object.hasOwn(Params, name) ? Params[name] : undefined;

function composed(world: World, owned: Owned, name: string): JsonValue | undefined {
  const result = composeParam(world, owned, name);
  if (result.ok) return result.value;
  throw new Refused(refusal(409, "GET", owned.collection, name, result.error));
}

async function replaceParams(parts: ApiParts, collection: ParamOwner, key: string, call: Call): Promise<Answer> {
  const sent = await readObjectBody(call);
  demandParams(parts, collection, key, call, [""]);
  const next = await changeParams(parts, collection, key, call, () => sent);
  return found(next.Params);
}

async function setParam(
  parts: ApiParts,
  collection: ParamOwner,
  key: string,
  name: string,
  call: Call,
): Promise<Answer> {
  const value = await readJson(call);
  demandParams(parts, collection, key, call, [pointerOf(name)]);
  const next = await changeParams(parts, collection, key, call, (old) => ({ ...old, [name]: value }));
  return found(next.Params[name] ?? null);
}

async function patchParams(parts: ApiParts, collection: ParamOwner, key: string, call: Call): Promise<Answer> {
  const patch = await readJson(call);
  const pointers = pointersOfPatch(patch);
  // A patch that only tests would reveal values.
  demandParams(parts, collection, key, call, pointers.length === 0 ? [""] : pointers);
  const names = { model: collection, key, words: "Patch failed to apply" } as const;
  const next = await changeParams(parts, collection, key, call, (old) => {
    const values = patched(old, patch, names);
    if (isJsonObject(values)) return values;
    throw new Refused(refusal(409, "PATCH", collection, key, "params must be an object"));
  });
  return found(next.Params);
}

async function removeParam(
  parts: ApiParts,
  collection: ParamOwner,
  key: string,
  name: string,
  call: Call,
): Promise<Answer> {
  demandParams(parts, collection, key, call, [pointerOf(name)]);
  let removed: JsonValue = null;
  await changeParams(parts, collection, key, call, (old) => {
    if (!Object.hasOwn(old, name)) throw notFound("DELETE", "params", name);
    const { [name]: value = null, ...rest } = old;
    removed = value;
    return rest;
  });
  return found(removed);
}

const pointerOf = (name: string): string => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** An invalid value is 409 here, whatever it is elsewhere. */
async function changeParams(
  { store }: ApiParts,
  collection: ParamOwner,
  key: string,
  call: Call,
  change: (params: JsonObject) => JsonObject,
): Promise<Owner> {
  try {
    return await store.update(
      collection,
      key,
      (object) => ({ ...asJson(object), Params: change(object.Params) }),
      writeOf(call, key),
    );
  } catch (thrown) {
    if (thrown instanceof Refused && thrown.body.Code === 422) throw new Refused({ ...thrown.body, Code: 409 });
    throw thrown;
  }
}

/** `updateSecure` is for values that are sealed; others need `update` of their pointers. */
function demandParams(
  parts: ApiParts,
  collection: ParamOwner,
  key: string,
  call: Call,
  pointers: readonly string[],
): void {
  for (const pointer of pointers) demandOn(call, parts.store.world, collection, `update:/Params${pointer}`, key);
}

/** Opens sealed values of secure params, each with the key of the object that has it; needs `getSecure`. */
export async function decodeParams(
  { secure, store: { world } }: Pick<ApiParts, "secure" | "store">,
  { caller }: Call,
  owned: Owned,
  params: JsonObject,
): Promise<JsonObject> {
  const sealed = Object.keys(params).filter((name) => world.get("params", name)?.Secure === true);
  if (sealed.length === 0) return params;
  const { collection } = owned;
  const key = keyOf(collection, owned.object);
  if (!caller.may(collection, "getSecure", key)) throw denied(collection, "getSecure", key);
  const opened = await Promise.all(
    sealed.map(async (name) => {
      const value = params[name] ?? null;
      const owner = findParam(world, owned, name)?.owner;
      // The default of a schema is not sealed.
      return [name, owner === undefined ? value : await secure.open(owner, value)] as const;
    }),
  );
  return { ...params, ...Object.fromEntries(opened) };
}
