import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { formatPointer } from "#lib/json/index.ts";
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

/** An object with its collection. */
export type Owned = OwnerInWorld;

/** `/P/K/params[/PKEY]`. */
export interface ParamsAsked {
  readonly parts: ApiParts;
  readonly collection: ParamOwner;
  readonly key: string;
  /** Empty: all of them. Names of params may contain slashes. */
  readonly name: string;
  readonly call: Call;
}

export async function answerParams(asked: ParamsAsked): Promise<Answer> {
  const { collection, key, name, call } = asked;
  if (isRead(call.method)) return await readParams(asked);
  const pointer = formatPointer([name]);
  switch (name === "" ? call.method : `${call.method} one`) {
    case "POST": {
      const sent = await readObjectBody(call);
      return found(await changeParams(asked, [""], () => sent));
    }
    case "POST one": {
      const value = await readJson(call);
      const next = await changeParams(asked, [pointer], (old) => ({ ...old, [name]: value }));
      return found(next[name] ?? null);
    }
    case "PATCH": {
      const patch = await readJson(call);
      const pointers = pointersOfPatch(patch);
      const names = { model: collection, key, words: "Patch failed to apply" } as const;
      // A patch that only tests would reveal values.
      const next = await changeParams(asked, pointers.length === 0 ? [""] : pointers, (old) => {
        const values = patched(old, patch, names);
        if (isJsonObject(values)) return values;
        throw new Refused(refusal(409, "PATCH", collection, key, "params must be an object"));
      });
      return found(next);
    }
    case "DELETE one": {
      let removed: JsonValue = null;
      await changeParams(asked, [pointer], (old) => {
        if (!Object.hasOwn(old, name)) throw notFound("DELETE", "params", name);
        const { [name]: value = null, ...rest } = old;
        removed = value;
        return rest;
      });
      return found(removed);
    }
    default:
      throw noRoute(call);
  }
}

async function readParams({ parts, collection, key, name, call }: ParamsAsked): Promise<Answer> {
  const { query } = call;
  const { world } = parts.store;
  objectFor(call, world, collection, key);
  const owner = world.get(collection, key);
  if (owner === undefined) throw notFound(call.method, collection, key);
  const [isAggregate, isComposed] = [isSet(query, "aggregate"), isSet(query, "compose")];
  const owned = { collection, object: owner } as Owned;
  const shown = async (params: JsonObject) =>
    isSet(query, "decode") ? await decodeParams(parts, call, owned, params) : params;
  if (name !== "") {
    const own = Object.hasOwn(owner.Params, name) ? owner.Params[name] : undefined;
    const inherited = isAggregate ? findParam(world, owned, name)?.value : own;
    const value = isComposed ? composed(world, owned, name) : inherited;
    return found(value === undefined ? null : ((await shown({ [name]: value }))[name] ?? null));
  }
  const all = isAggregate || isComposed ? aggregateParams(world, owned) : owner.Params;
  const names = listOfWords(query.get("params"));
  return found(await shown(names === undefined ? all : picked(all, names)));
}

function composed(world: World, owned: Owned, name: string): JsonValue | undefined {
  const result = composeParam(world, owned, name);
  if (result.ok) return result.value;
  throw new Refused(refusal(409, "GET", owned.collection, name, result.error));
}

/**
 * The new params. `updateSecure` is for values that are sealed; others need `update` of their pointers. An invalid
 * value is 409 here, whatever it is elsewhere.
 */
async function changeParams(
  { parts: { store }, collection, key, call }: ParamsAsked,
  pointers: readonly string[],
  change: (params: JsonObject) => JsonObject,
): Promise<JsonObject> {
  for (const pointer of pointers) demandOn(call, store.world, collection, `update:/Params${pointer}`, key);
  const edit = (object: ObjectOf[ParamOwner]) => ({ ...asJson(object), Params: change(object.Params) });
  try {
    return (await store.update(collection, key, edit, writeOf(call, key))).Params;
  } catch (thrown) {
    if (thrown instanceof Refused && thrown.body.Code === 422) throw new Refused({ ...thrown.body, Code: 409 });
    throw thrown;
  }
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
