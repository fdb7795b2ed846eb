import { codeOf, type JsonObject } from "#lib/base/index.ts";
import { badRequest, expired, invalidOption } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry, Page, PageRequest } from "../store/store.ts";
import { type ContinueToken, formatToken, parseToken } from "./continue-token.ts";
import type { ApiContext } from "./context.ts";
import type { ListRequest } from "./options.ts";
import { parseRevision, waitForRevision } from "./revision.ts";
import { type Selector, selectorOf } from "./selector.ts";
import { collectionOf, keyFor, viewOf } from "./storage-view.ts";

/** One page of a listing, or all of it. */
export interface Listing {
  readonly entries: readonly Entry[];
  /** What all of it is of; a watch from here misses nothing and repeats nothing (S5). */
  readonly revision: number;
  /** The token of the next page; absent on the last. */
  readonly continue?: string;
  /** Only without selectors, as Kubernetes does. */
  readonly remaining?: number;
}

// Entries looked at in one turn of the event loop: about a quarter of a millisecond.
const scanChunk = 500;

// A state of the past is made by undoing the events after it, a microsecond each, in one go. So many are no more than a chunk.
const cheapEvents = 500;

// Of objects that are parsed in one turn for a reader in this process: a millisecond.
const parsedChunkBytes = 64 * 1024;

/** What the kind shows of each entry. After a start nothing is parsed yet: 10,000 objects would hold the loop for 0.1 s. */
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

/** Where a listing reads: at an exact revision, or at the present one. */
interface Plan {
  readonly exact?: number;
  readonly after?: ContinueToken;
}

/**
 * GET of a collection. Every page of one listing describes the same revision, whatever is written meanwhile (S8). 400 for a token that is
 * none of this collection's, 410 for a revision that is no longer kept, 422 for options that contradict each other, 504 for a revision that
 * does not come in time. Cost: O(objects of the namespace) with a selector, O(page) without; nothing is copied.
 */
export async function listObjects(
  context: ApiContext,
  resource: ServedResource,
  request: ListRequest,
  signal?: AbortSignal,
): Promise<Listing> {
  // Refusals that need no store first: a wrong selector must not wait for a revision.
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

/** No scan for the one object that can match; also how clients watch a single object. */
function listByName(context: ApiContext, resource: ServedResource, selector: Selector, name: string): Listing {
  const entry = context.store.get(keyFor(resource, selector.namespace ?? "", name));
  const entries = entry !== undefined && selector.matches(entry) ? [entry] : [];
  return { entries, revision: context.store.revision };
}

/**
 * The table of list requests: resourceVersion, resourceVersionMatch, limit and continue against each other (Kubernetes API concepts,
 * "resource versions"). `N` is any revision above 0; `now` is the present state, which is N or later.
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

/** 422 in Kubernetes' words for what the table refuses whatever the revision is. */
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

/** The token says where and at which revision; limit and selectors are the request's own and may differ from page to page. */
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

/** 410 with a new token, which goes on at the present state: clients that can live with an inconsistent rest need not start over. */
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
  // A page without limit still yields to others every chunk, but is one answer.
  const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
  const entries: Entry[] = [];
  let page = await readPage(context, resource, selector, plan, plan.exact, plan.after, most);
  for (;;) {
    const stopped = await take(context, page, selector, entries, most);
    if (stopped !== undefined) return listing(context, resource, entries, page, stopped);
    if (page.next === undefined || entries.length === most) break;
    // Others get their turn between two chunks; the revision keeps the chunks together.
    await context.turns.piece();
    page = await readPage(context, resource, selector, plan, page.revision, page.next, most - entries.length);
  }
  const listed = listing(context, resource, entries, page, page.next);
  return page.next !== undefined && selector.everything ? { ...listed, remaining: page.remaining } : listed;
}

/** What to wait for before an entry is matched: a turn, when a millisecond has been spent on those before it. */
export function pausesOf(selector: Selector, turns: ApiContext["turns"]): (entry: Entry) => Promise<void> | undefined {
  let spent = 0;
  return (entry) => {
    spent += selector.costOf(entry);
    if (spent <= 1) return undefined;
    spent = 0;
    return turns.piece();
  };
}

/** Appends the page's matches. When the listing is full before the page ends, answers with the place where it stopped. */
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

/** With `next` the listing goes on behind that object. */
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

/** A revision compacted between two pages is the client's to deal with: 410, with a token where there was one. */
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
  // A selector may let few of many pass, so then the page is as large as one turn allows.
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
