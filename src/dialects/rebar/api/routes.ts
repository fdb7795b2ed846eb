import { collections } from "../model/read.ts";
import type { Collection } from "../objects.ts";
import { answerActions } from "./actions.ts";
import { answerBlobs } from "./blobs.ts";
import { type Answered, type Call, demand, found, isRead, noRoute, type Route } from "./call.ts";
import { answerCollection, answerObject, objectFor, resolveKey } from "./collections.ts";
import { answerContents } from "./contents.ts";
import { jobActions, jobLog, postJob, purgeJobs } from "./jobs.ts";
import { answerMeta } from "./meta.ts";
import { answerParams } from "./params.ts";
import type { ApiParts } from "./parts.ts";
import {
  answerAbsent,
  answerIndexes,
  answerInfo,
  answerInterfaces,
  answerLogs,
  answerObjects,
  answerPrefs,
  answerProviders,
  postEvent,
} from "./small-routes.ts";
import { machineToken, userPassword, userToken } from "./users.ts";
import { isParamOwner, type ParamOwner } from "./wire.ts";

const absent = ["subnets", "leases", "reservations", "pools", "tenants", "endpoints", "version_sets", "catalog_items"];

/** Routes by the first segment of their path. */
export function routesOf(parts: ApiParts): ReadonlyMap<string, Route> {
  const routes: readonly (readonly [string, Route])[] = [
    ...collections.map((collection) => [collection, collectionRoute(parts, collection)] as const),
    ["prefs", (call) => answerPrefs(parts, call)],
    ["preferences", (call) => answerPrefs(parts, call)],
    ["info", reading((call) => answerInfo(parts, call))],
    ["meta", (call) => answerMeta(parts, call)],
    ["contents", (call) => answerContents(parts, call)],
    ["events", (call) => postEvent(parts, call)],
    ["objects", reading(answerObjects)],
    ["indexes", reading(answerIndexes)],
    ["interfaces", reading(answerInterfaces)],
    ["logs", reading(answerLogs)],
    ["plugin_providers", reading(answerProviders)],
    ["files", (call) => answerBlobs("files", parts.files, call)],
    ["isos", (call) => answerBlobs("isos", parts.isos, call)],
    ...absent.map((name) => [name, answerAbsent] as const),
  ];
  return new Map(routes);
}

const reading =
  (route: (call: Call) => Answered): Route =>
  (call) => {
    if (!isRead(call.method)) throw noRoute(call);
    return route(call);
  };

function collectionRoute(parts: ApiParts, collection: Collection): Route {
  const { world } = parts.store;
  const subs = new Map(Object.entries(subResources(parts, collection)));
  return (call) => {
    const { path, method } = call;
    if (path.length === 1 || (path.length === 2 && path[1] === "")) {
      if (collection === "jobs" && method === "POST") return postJob(parts, call);
      if (collection === "jobs" && method === "DELETE") return purgeJobs(parts, call);
      return answerCollection(parts, collection, call);
    }
    // Only names of params have slashes.
    if (collection === "params") return paramRoute(parts, call);
    const key = resolveKey(call, world, collection, path[1] ?? "");
    if (path.length === 2) return answerObject(parts, collection, key, call);
    const sub = subs.get(path[2] ?? "");
    if (sub === undefined) throw noRoute(call);
    return sub(key, path.slice(3).join("/"), call);
  };
}

/** `/params/a/b` is the param `a/b`; `/params/a/b/actions` its actions, unless a param has this name. */
function paramRoute(parts: ApiParts, call: Call): Answered | Promise<Answered> {
  const { world } = parts.store;
  const rest = call.path.slice(1);
  const whole = resolveKey(call, world, "params", rest.join("/"));
  const isActions = rest.length > 1 && rest.at(-1) === "actions" && world.get("params", whole) === undefined;
  if (isActions) return answerActions(parts, "params", rest.slice(0, -1).join("/"), "", call);
  return answerObject(parts, "params", whole, call);
}

type SubRoute = (key: string, rest: string, call: Call) => Answered | Promise<Answered>;

function subResources(parts: ApiParts, collection: Collection): Readonly<Record<string, SubRoute>> {
  const actions: SubRoute = (key, command, call) => answerActions(parts, collection, key, command, call);
  const one =
    (route: (key: string, call: Call) => Answered | Promise<Answered>): SubRoute =>
    (key, rest, call) => {
      if (rest !== "") throw noRoute(call);
      return route(key, call);
    };
  const owned = isParamOwner(collection) ? paramRoutes(parts, collection) : {};
  if (collection === "jobs")
    return {
      plugin_actions: actions,
      actions: one((key, call) => jobActions(parts, key, call)),
      log: one((key, call) => jobLog(parts, key, call)),
    };
  if (collection === "machines")
    return { ...owned, actions, token: one((key, call) => machineToken(parts, key, call)) };
  if (collection === "users")
    return {
      actions,
      token: one((key, call) => userToken(parts, key, call)),
      password: one((key, call) => userPassword(parts, key, call)),
    };
  return { ...owned, actions };
}

const paramRoutes = (parts: ApiParts, collection: ParamOwner): Readonly<Record<string, SubRoute>> => ({
  params: (key, name, call) => answerParams({ parts, collection, key, name, call }),
  pubkey: async (key, rest, call) => {
    if (rest !== "" || !isRead(call.method)) throw noRoute(call);
    demand(call, collection, "updateSecure", key);
    objectFor(call, parts.store.world, collection, key);
    return found(await parts.secure.publicKey(collection, key));
  },
});
