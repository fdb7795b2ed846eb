import { networkInterfaces } from "node:os";
import { type JsonObject, textAt } from "#lib/base/index.ts";
import { refusal, Refused } from "../failure.ts";
import { describeIndexes } from "../model/indexes.ts";
import { isCollection } from "../kinds.ts";
import { collections } from "../model/read.ts";
import { principalText } from "../world.ts";
import { readObjectBody } from "./bodies.ts";
import {
  type Answer,
  badRequest,
  type Call,
  created,
  demand,
  done,
  found,
  isRead,
  noRoute,
  notFound,
  writeOf,
} from "./call.ts";
import { infoOf } from "./info.ts";
import { countsOf, emptyList } from "./listing.ts";
import type { ApiParts } from "./parts.ts";

export async function answerPrefs({ store }: ApiParts, call: Call): Promise<Answer> {
  const { method } = call;
  if (isRead(method)) {
    demand(call, "preferences", "list", "*");
    return found(store.world.prefs);
  }
  if (method !== "POST") throw noRoute(call);
  demand(call, "preferences", "post", "*");
  const sent = await readObjectBody(call);
  const values = Object.entries(sent).map(([name, value]) => {
    if (typeof value === "string") return [name, value] as const;
    throw badRequest(method, "preferences", name, `expected a string as value of ${name}`);
  });
  return created(await store.setPrefs(Object.fromEntries(values), writeOf(call)));
}

/** As for objects: every listener gets it. */
const mostEventBytes = 2 ** 20;

/** `POST /events`: the principal is the caller, whatever was sent. */
export async function postEvent({ store }: ApiParts, call: Call): Promise<Answer> {
  if (call.method !== "POST") throw noRoute(call);
  demand(call, "events", "post", "*");
  const sent = await readObjectBody(call, mostEventBytes);
  const [Type, Action, Key = ""] = ["Type", "Action", "Key"].map((name) => textAt(sent, name));
  if (Type === undefined || Action === undefined)
    throw badRequest("POST", "events", "", "expected an event with Type and Action");
  // Clients could not tell these from the server's own.
  const isOfObject = isCollection(Type) && ["create", "update", "save", "delete"].includes(Action);
  if (isOfObject || Type === "websocket" || Type === "contents")
    throw new Refused(refusal(403, "AUTH", "events", "", `only the server publishes ${Type}.${Action}`));
  const Principal = principalText(call.caller.principal);
  store.publish({ Type, Action, Key, Principal, Object: sent["Object"] ?? null, Original: null });
  return done;
}

export function answerInfo({ store, facts }: ApiParts, call: Call): Answer {
  demand(call, "info", "get", "*");
  return found(infoOf(facts(), store.world));
}

export const answerObjects = (): Answer => found(collections);

/** `/indexes[/TYPE[/NAME]]`; unknown ones are empty. */
export function answerIndexes(call: Call): Answer {
  const [, type, ...rest] = call.path;
  if (type === undefined) return found(Object.fromEntries(collections.map((name) => [name, describeIndexes(name)])));
  if (!isCollection(type)) throw notFound(call.method, "indexes", type);
  const indexes = describeIndexes(type);
  const name = rest.join("/");
  return found(name === "" ? indexes : Object.hasOwn(indexes, name) ? indexes[name] : {});
}

export function answerInterfaces(call: Call): Answer {
  const name = call.path[1];
  const all = call.caller.may("interfaces", "list", "*") ? interfaces() : [];
  if (name === undefined) return { ...found(all), headers: countsOf(all.length, all.length, all.length) };
  const one = all.find((each) => each["Name"] === name);
  if (one === undefined) throw notFound(call.method, "interfaces", name);
  return found(one);
}

function interfaces(): readonly JsonObject[] {
  return Object.entries(networkInterfaces()).map(([Name, addresses = []], index) => ({
    Name,
    Index: index + 1,
    Addresses: addresses.flatMap(({ cidr }) => (cidr === null ? [] : [cidr])),
    ActiveAddress: addresses[0]?.cidr ?? "",
    Gateway: "",
    DnsServers: [],
    DnsDomain: "",
    Meta: {},
  }));
}

/** The log of the server is that of the process. */
export function answerLogs(call: Call): Answer {
  demand(call, "system", "logs", "*");
  return found([]);
}

const providers: readonly JsonObject[] = [
  ["exec", "exec/commands", "Runs programs on the server's host."],
  ["http", "http/url", "Sends requests to a service."],
].map(([Name = "", needs = "", Documentation = ""]) => ({
  Meta: {},
  Name,
  Version: "v4.8.0",
  PluginVersion: 4,
  AutoStart: false,
  HasPublish: false,
  AvailableActions: [],
  RequiredParams: [needs],
  OptionalParams: [],
  StoreObjects: {},
  Documentation,
  Content: "",
}));

export function answerProviders(call: Call): Answer {
  const name = call.path[1];
  if (name === undefined) return { ...found(providers), headers: countsOf(2, 2, 2) };
  const one = providers.find((each) => each["Name"] === name);
  if (one === undefined) throw notFound(call.method, "plugin_providers", name);
  return found(one);
}

/** Collections of features that this server does not have: clients list them without being asked. */
export function answerAbsent(call: Call): Answer {
  const { method, path } = call;
  const [model = "", ...rest] = path;
  if (isRead(method)) {
    if (rest.length === 0) return emptyList;
    throw notFound(method, model, rest.join("/"));
  }
  if (method === "POST") throw new Refused(refusal(501, method, model, "", `${model} are not supported`));
  throw notFound(method, model, rest.join("/"));
}
