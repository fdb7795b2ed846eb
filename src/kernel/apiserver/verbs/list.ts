import { createHash } from "node:crypto";
import { badRequest, expired, invalidOption } from "#kernel/model/index.ts";
import { codeOf, isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { parseJson } from "#lib/json/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Collection, Entry, Page, PageRequest } from "../store/store.ts";
import type { ApiContext } from "./context.ts";
import { parseRevision, waitForRevision } from "./get.ts";
import type { ListRequest } from "./options.ts";
import { type Selector, selectorOf } from "./selector.ts";
import { collectionOf, keyFor, viewOf } from "./storage-view.ts";

export interface Listing {
  readonly entries: readonly Entry[];
  /** A watch from this revision misses and repeats nothing. */
  readonly revision: number;
  /** The token of the next page; absent on the last. */
  readonly continue?: string;
  readonly remaining?: number;
}

// Entries looked at in one turn: a quarter of a millisecond.
const scanChunk = 500;

// Undoing an event for a past state takes a microsecond.
const cheapEvents = 500;

// Parsed in one turn for readers in this process: a millisecond.
const parsedChunkBytes = 64 * 1024;

/** The objects of entries. After a start nothing is parsed yet: 10,000 objects would block the event loop for 0.1 s. */
export async function viewsOf(
  { turns }: ApiContext,
  resource: ServedResource,
  entries: readonly Entry[],
  signal?: AbortSignal,
): Promise<readonly JsonObject[]> {
  const views: JsonObject[] = [];
  let bytes = 0;
  for (const entry of entries) {
    views.push(viewOf(resource, entry));
    bytes += entry.bytes.length;
    if (bytes < parsedChunkBytes) continue;
    bytes = 0;
    await turns.piece();
    signal?.throwIfAborted();
  }
  return views;
}

interface Plan {
  readonly exact?: number;
  readonly after?: ContinueToken;
}

/** Pages share a revision. 400 for a foreign token, 410 compacted, 422 contradicting, 504 late. O(page) unselected. */
export async function listObjects(
  context: ApiContext,
  resource: ServedResource,
  request: ListRequest,
  signal?: AbortSignal,
): Promise<Listing> {
  // Refuse what needs no store before waiting for a revision.
  const selector = selectorOf(request, resource, context.limits);
  const plan = await planOf(context, resource, request, selector, signal);
  if (
    selector.name !== undefined &&
    selector.namespace !== undefined &&
    plan.exact === undefined &&
    plan.after === undefined
  ) {
    return listByName(context, resource, selector, selector.name);
  }
  return scan(context, resource, selector, plan, request.limit ?? 0);
}

/** Only one object can match; clients also watch single objects this way. */
function listByName(context: ApiContext, resource: ServedResource, selector: Selector, name: string): Listing {
  const entry = context.store.get(keyFor(resource, selector.namespace ?? "", name));
  const entries = entry !== undefined && selector.matches(entry) ? [entry] : [];
  return { entries, revision: context.store.revision };
}

/**
 * resourceVersion (`N` above 0), resourceVersionMatch, limit and continue (Kubernetes API concepts, "resource
 * versions"); `now` is the present state.
 *
 *                  no match     Exact     NotOlderThan
 *   none           now          422       422
 *   0              now          422       now
 *   N              now          at N      now
 *   N, limit       at N         at N      now
 *   continue       the token's  422       422            400 with a revision besides
 */
async function planOf(
  context: ApiContext,
  resource: ServedResource,
  request: ListRequest,
  selector: Selector,
  signal: AbortSignal | undefined,
): Promise<Plan> {
  const { resourceVersion: revisionText = "", resourceVersionMatch: match = "", limit = 0 } = request;
  checkCombination(request);
  if (request.continue !== undefined && request.continue !== "") {
    if (revisionText !== "" && revisionText !== "0") {
      throw badRequest("resourceVersion must not be set together with continue");
    }
    return continuation(context, resource, selector, request.continue);
  }
  const revision = revisionText === "" ? 0 : parseRevision(revisionText);
  if (match === "Exact" && revision === 0)
    throw invalidOption("resourceVersionMatch", "Exact needs a resourceVersion above 0");
  await waitForRevision(context, revision, signal);
  const exact = match === "Exact" || (match === "" && revision > 0 && limit > 0);
  return exact ? { exact: revision } : {};
}

/** 422 in Kubernetes' words for what is wrong at any revision. */
function checkCombination(request: ListRequest): void {
  const { resourceVersion = "", resourceVersionMatch: match = "" } = request;
  const refuse = (detail: string) => invalidOption("resourceVersionMatch", `Forbidden: ${detail}`);
  if (request.sendInitialEvents !== undefined)
    throw invalidOption("sendInitialEvents", "Forbidden: it is for watches only");
  if (match === "") return;
  if (match !== "Exact" && match !== "NotOlderThan") {
    throw invalidOption(
      "resourceVersionMatch",
      `Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan"`,
    );
  }
  if (request.continue !== undefined && request.continue !== "")
    throw refuse("it cannot be used together with continue");
  if (resourceVersion === "") throw refuse("it needs a resourceVersion");
}

/** Limit and selectors may differ from page to page. */
function continuation(context: ApiContext, resource: ServedResource, selector: Selector, text: string): Plan {
  const { store } = context;
  const after = parseToken(text, collectionOf(resource), store.clusterUid);
  if (selector.namespace !== undefined && after.namespace !== selector.namespace) {
    throw badRequest("the continue parameter belongs to a list of another namespace");
  }
  if (after.revision === -1) return { after };
  if (after.revision < store.compactedRevision) throw tokenExpired(context, resource, after);
  if (after.revision > store.revision)
    throw badRequest("the continue parameter is of a revision that does not exist yet");
  return { exact: after.revision, after };
}

/** 410 with a new token that continues at the present state, for clients that accept an inconsistent list. */
const tokenExpired = (context: ApiContext, resource: ServedResource, after: ContinueToken): Error =>
  expired(
    "the continue parameter is too old to show a consistent list; start again without it, or use the continue token of this answer to go on at the present state",
    formatToken({ ...after, revision: -1 }, collectionOf(resource), context.store.clusterUid),
  );

/** Collects matches until the limit or the end, a chunk per turn of the event loop. */
async function scan(
  context: ApiContext,
  resource: ServedResource,
  selector: Selector,
  plan: Plan,
  limit: number,
): Promise<Listing> {
  const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
  const entries: Entry[] = [];
  let page = await readPage(context, resource, selector, plan, plan.exact, plan.after, most);
  for (;;) {
    const stopped = await take(context, page, selector, entries, most);
    if (stopped !== undefined) return listing(context, resource, entries, page, stopped);
    if (page.next === undefined || entries.length === most) break;
    // The revision keeps the chunks consistent.
    await context.turns.piece();
    page = await readPage(context, resource, selector, plan, page.revision, page.next, most - entries.length);
  }
  const listed = listing(context, resource, entries, page, page.next);
  return page.next !== undefined && selector.everything ? { ...listed, remaining: page.remaining } : listed;
}

/** Returns what to await before matching an entry: a turn after each millisecond of work. */
export function pausesOf(selector: Selector, turns: ApiContext["turns"]): (entry: Entry) => Promise<void> | undefined {
  let spent = 0;
  return (entry) => {
    spent += selector.costOf(entry);
    if (spent <= 1) return undefined;
    spent = 0;
    return turns.piece();
  };
}

/** Appends the page's matches. Returns where it stopped when the list is full before the page ends. */
async function take(
  { turns }: ApiContext,
  page: Page,
  selector: Selector,
  entries: Entry[],
  most: number,
): Promise<PageRequest["after"]> {
  const pauseBefore = pausesOf(selector, turns);
  for (const [index, entry] of page.entries.entries()) {
    if (!selector.everything) {
      const pause = pauseBefore(entry);
      if (pause !== undefined) await pause;
      if (!selector.matches(entry)) continue;
    }
    entries.push(entry);
    if (entries.length === most && index < page.entries.length - 1) return entry.key;
  }
  return undefined;
}

/** With `next` the list continues after that object. */
function listing(
  context: ApiContext,
  resource: ServedResource,
  entries: readonly Entry[],
  page: Page,
  next: PageRequest["after"],
): Listing {
  const { revision } = page;
  if (next === undefined) return { entries, revision };
  const { namespace, name } = next;
  const token = formatToken({ revision, namespace, name }, collectionOf(resource), context.store.clusterUid);
  return { entries, revision, continue: token };
}

/** A revision compacted between two pages is 410, with a new token where there was one. */
async function readPage(
  context: ApiContext,
  resource: ServedResource,
  selector: Selector,
  plan: Plan,
  revision: number | undefined,
  after: PageRequest["after"],
  missing: number,
): Promise<Page> {
  if (revision !== undefined && context.store.eventsAfter(collectionOf(resource), revision) > cheapEvents)
    await context.turns.turn(after === plan.after ? undefined : "patient");
  // Few objects may match, so take as many as one turn allows.
  const limit = selector.everything ? Math.min(missing, scanChunk) : scanChunk;
  try {
    return context.store.page(collectionOf(resource), {
      limit,
      ...(selector.namespace === undefined ? {} : { namespace: selector.namespace }),
      ...(revision === undefined ? {} : { revision }),
      ...(after === undefined ? {} : { after: { namespace: after.namespace, name: after.name } }),
    });
  } catch (cause) {
    if (codeOf(cause) !== "revision-compacted") throw cause;
    if (plan.after !== undefined) throw tokenExpired(context, resource, plan.after);
    throw expired(`the resourceVersion for the provided list is too old: ${revision ?? 0}`);
  }
}

/** Where the next page of a list starts. Revision -1 continues at the current state. */
export interface ContinueToken {
  readonly revision: number;
  readonly namespace: string;
  readonly name: string;
}

/** The token's text, valid for this collection of this server. */
export function formatToken(token: ContinueToken, collection: Collection, secret: string): string {
  const start = `${token.namespace}/${token.name}\u0000`;
  const content = { v: "meta.k8s.io/v1", rv: token.revision, start };
  return Buffer.from(JSON.stringify({ ...content, sum: checksum(content, collection, secret) })).toString("base64url");
}

/** Undoes formatToken; 400 for any other text. */
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

const badToken = () => badRequest("the continue parameter is not valid for this list");

/** Detects foreign tokens. Not a secret: a token opens nothing that its reader could not list. */
function checksum(content: { v: string; rv: number; start: string }, collection: Collection, secret: string): string {
  const parts = [secret, collection.group, collection.resource, content.v, content.rv, content.start];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, 12);
}
