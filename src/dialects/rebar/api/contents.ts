import { Refused } from "../failure.ts";
import { mostContentBytes, readObjectBody } from "./bodies.ts";
import {
  type Answer,
  type Call,
  created,
  demand,
  done,
  found,
  isRead,
  isSet,
  noRoute,
  notFound,
  writeOf,
} from "./call.ts";
import { demandGrantsOfContent } from "./grants.ts";
import { countsOf } from "./listing.ts";
import type { ApiParts } from "./parts.ts";

/** `/contents`: bundles, which change as a whole. */
export async function answerContents({ store: { bundles, world } }: ApiParts, call: Call): Promise<Answer> {
  const { method, path, query } = call;
  const name = path.slice(1).join("/");
  const replacesWritable = isSet(query, "replaceWritable");
  if (name === "") {
    if (isRead(method)) {
      const all = call.caller.may("contents", "list", "*") ? bundles.list() : [];
      return { ...found(all), headers: countsOf(all.length, all.length, all.length) };
    }
    if (method !== "POST") throw noRoute(call);
    demand(call, "contents", "create", "*");
    const content = await readObjectBody(call, mostContentBytes);
    demandGrantsOfContent(call, world, content);
    return created(await bundles.create(content, writeOf(call), replacesWritable));
  }
  if (isRead(method)) {
    const content = call.caller.may("contents", "get", name) ? bundles.get(name) : undefined;
    if (content === undefined) throw noStore(method, name);
    return found(content);
  }
  if (method === "PUT") {
    demand(call, "contents", "update", name);
    const content = await readObjectBody(call, mostContentBytes);
    demandGrantsOfContent(call, world, content);
    return found(await bundles.replace(name, content, writeOf(call), replacesWritable));
  }
  if (method !== "DELETE") throw noRoute(call);
  demand(call, "contents", "delete", name);
  await bundles.remove(name, writeOf(call));
  return done;
}

const noStore = (method: string, name: string): Refused =>
  new Refused({ ...notFound(method, "contents", name).body, Messages: ["No such content store"] });
