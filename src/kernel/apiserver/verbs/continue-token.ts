import { createHash } from "node:crypto";
import { isJsonObject } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { Collection } from "../store/store.ts";

/** Where the next page of a listing starts. Revision -1: at the current state, whatever changed in between. */
export interface ContinueToken {
  readonly revision: number;
  readonly namespace: string;
  readonly name: string;
}

/** The token's text. It works for this collection of this server only. */
export function formatToken(token: ContinueToken, collection: Collection, secret: string): string {
  const start = `${token.namespace}/${token.name}\u0000`;
  const content = { v: "meta.k8s.io/v1", rv: token.revision, start };
  return Buffer.from(JSON.stringify({ ...content, sum: checksum(content, collection, secret) })).toString("base64url");
}

/** Undoes formatToken; 400 for a text it did not make for this collection. */
export function parseToken(text: string, collection: Collection, secret: string): ContinueToken {
  const parsed = parseJson(Buffer.from(text, "base64url"));
  const content = parsed.ok ? parsed.value : undefined;
  if (!isJsonObject(content)) throw badToken();
  const { v, rv, start, sum } = content;
  if (v !== "meta.k8s.io/v1" || typeof rv !== "number" || typeof start !== "string") throw badToken();
  if (sum !== checksum({ v, rv, start }, collection, secret)) throw badToken();
  const slash = start.indexOf("/");
  return { revision: rv, namespace: start.slice(0, slash), name: start.slice(slash + 1, -1) };
}

/** One answer for all that can be wrong: clients treat tokens as opaque. */
const badToken = () => badRequest("the continue parameter is not valid for this list");

/**
 * A token pieced together by hand, or of another collection or server, could point a listing anywhere; 72 bits make that a mistake
 * no client makes by chance. It is no secret: what a token opens, its reader may list anyway.
 */
function checksum(content: { v: string; rv: number; start: string }, collection: Collection, secret: string): string {
  const parts = [secret, collection.group, collection.resource, content.v, content.rv, content.start];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 12);
}
