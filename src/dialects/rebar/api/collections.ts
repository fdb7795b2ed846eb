import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { type AnyObject, type Collection, keyField } from "../objects.ts";
import type { World } from "../world.ts";
import { findObject, slimmed } from "../model/filter.ts";
import { keyOf, readObject } from "../model/read.ts";
import { memberOf, readJson, readObjectBody } from "./bodies.ts";
import {
  type Answer,
  type Call,
  created,
  demand,
  denied,
  found,
  isRead,
  isSet,
  noRoute,
  notFound,
  writeOf,
} from "./call.ts";
import { demandGrants } from "./grants.ts";
import type { ApiParts } from "./parts.ts";
import { changedPointers, patched, pointersOfPatch } from "./patching.ts";
import { listObjects } from "./listing.ts";
import { awaitChange, tagOf } from "./versions.ts";
import { onWire } from "./wire.ts";

/** The objects of a collection. Sub-resources are routes of their own. */

/** A key of a URL, which may be `Index:value` of a unique index: of an object that the caller may get, as refusals
 * name the key. */
export function resolveKey(call: Call, world: World, collection: Collection, text: string): string {
  if (!text.includes(":")) return text;
  const object = findObject(world, collection, text);
  const key = object === undefined ? text : keyOf(collection, object);
  return mayTouch(call, world, collection, "get", key) ? key : text;
}

/** Claims on a job may name its machine. */
export function mayTouch({ caller }: Call, world: World, collection: Collection, action: string, key: string): boolean {
  if (caller.may(collection, action, key)) return true;
  if (collection !== "jobs") return false;
  const job = world.get("jobs", key);
  return job !== undefined && caller.may("jobs", action, job.Machine);
}

export function demandOn(call: Call, world: World, collection: Collection, action: string, key: string): void {
  if (!mayTouch(call, world, collection, action, key)) throw denied(collection, action, key);
}

/** The object, if there is one that the caller may get; else 404. */
export function objectFor(call: Call, world: World, collection: Collection, key: string): AnyObject {
  const object = world.get(collection, key);
  if (object === undefined || !mayTouch(call, world, collection, "get", key))
    throw notFound(call.method, collection, key);
  return object;
}

export function answerCollection(parts: ApiParts, collection: Collection, call: Call): Answer | Promise<Answer> {
  if (isRead(call.method)) return listObjects(parts, collection, call);
  if (call.method === "POST") return createObject(parts, collection, call);
  throw noRoute(call);
}

export function answerObject(
  parts: ApiParts,
  collection: Collection,
  key: string,
  call: Call,
): Answer | Promise<Answer> {
  switch (call.method) {
    case "GET":
    case "HEAD":
      return readOne(parts, collection, key, call);
    case "PUT":
      return replaceObject(parts, collection, key, call);
    case "PATCH":
      return patchObject(parts, collection, key, call);
    case "DELETE":
      return removeObject(parts, collection, key, call);
    default:
      throw noRoute(call);
  }
}

async function readOne(parts: ApiParts, collection: Collection, key: string, call: Call): Promise<Answer> {
  let object = objectFor(call, parts.store.world, collection, key);
  const tag = tagOf(object);
  if (call.request.headers["if-none-match"] === tag) {
    const now = await awaitChange(parts, call, collection, key, object);
    if (now === object) return { code: 304, headers: { ETag: tag } };
    // The caller's rights may have changed meanwhile, too.
    object = objectFor(call, parts.store.world, collection, key);
  }
  const body = onWire(collection, slimmed(object, call.query));
  const shown = isSet(call.query, "decode") ? await parts.decoded(call, collection, key, body) : body;
  return { ...found(shown), headers: { ETag: tagOf(object) } };
}

async function createObject({ store }: ApiParts, collection: Collection, call: Call): Promise<Answer> {
  const sent = await readObjectBody(call);
  const key = memberOf(sent, keyField(collection));
  demand(call, collection, "create", typeof key === "string" ? key : "");
  demandGrants(call, store.world, collection, sent);
  return created(onWire(collection, await store.create(collection, sent, writeOf(call))));
}

async function replaceObject({ store }: ApiParts, collection: Collection, key: string, call: Call): Promise<Answer> {
  const sent = await readObjectBody(call);
  const named = memberOf(sent, keyField(collection));
  if (named !== undefined && named !== key)
    throw new Refused(refusal(400, "PUT", collection, key, `Key change from ${key} to ${textOf(named)} not allowed`));
  const mayAll = mayTouch(call, store.world, collection, "update", key);
  if (!mayAll && store.world.get(collection, key) === undefined) throw denied(collection, "update", key);
  const write = writeOf(call, key);
  const next = await store.update(
    collection,
    key,
    (object) => {
      if (!mayAll) {
        // Members that are not sent get their defaults, which is a change, too.
        const read = readObject(collection, sent, object);
        if (!read.ok) throw new Refused(read.error);
        const pointers = changedPointers(onWire(collection, object), onWire(collection, read.value));
        demandPointers(call, store.world, collection, key, pointers);
      }
      demandGrants(call, store.world, collection, sent, object);
      return sent;
    },
    write,
  );
  return found(onWire(collection, next));
}

async function patchObject({ store }: ApiParts, collection: Collection, key: string, call: Call): Promise<Answer> {
  const patch = await readJson(call);
  if (!Array.isArray(patch))
    throw new Refused(refusal(400, "PATCH", collection, key, "expected a JSON patch: a list of operations"));
  if (!mayTouch(call, store.world, collection, "update", key))
    demandPointers(call, store.world, collection, key, pointersOfPatch(patch));
  const names = { model: collection, key, words: "Patch error" } as const;
  const next = await store
    .update(
      collection,
      key,
      (object) => {
        const sent = shapedAs(collection, key, patched(onWire(collection, object), patch, names));
        demandGrants(call, store.world, collection, sent, object);
        return sent;
      },
      writeOf(call, key),
    )
    .catch((thrown: unknown) => {
      throw undecodable(thrown);
    });
  return found(onWire(collection, next));
}

/** A patch whose result has another shape is 406. */
function undecodable(thrown: unknown): unknown {
  if (!(thrown instanceof Refused) || thrown.body.Code !== 400) return thrown;
  return new Refused({ ...thrown.body, Type: "PATCH", Code: 406 });
}

function shapedAs(collection: Collection, key: string, value: JsonValue): JsonObject {
  if (isJsonObject(value)) return value;
  throw new Refused(refusal(406, "PATCH", collection, key, "the patch must leave a JSON object"));
}

/** A patch that only tests needs the right to look. */
function demandPointers(
  call: Call,
  world: World,
  collection: Collection,
  key: string,
  pointers: readonly string[],
): void {
  for (const pointer of pointers.length === 0 ? [""] : pointers)
    demandOn(call, world, collection, `update:${pointer}`, key);
}

async function removeObject({ store }: ApiParts, collection: Collection, key: string, call: Call): Promise<Answer> {
  demandOn(call, store.world, collection, "delete", key);
  return found(onWire(collection, await store.remove(collection, key, writeOf(call))));
}

const textOf = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));
