import { isGone, type KubeObject, type ObjectList, type Stored } from "#kernel/model/index.ts";

/** Objects per request: what kubectl asks for. */
export const pageSize = 500;
/** A listing that runs out this often is too long for its server's history; it is then asked for in one piece. */
const maxRestarts = 3;

/** What the next request asks for. Only the first carries the revision that the caller wants: a token has its own. */
interface PageRequest {
  readonly limit?: number;
  readonly continue?: string;
  readonly isFirst: boolean;
}

/**
 * Reads all pages of a listing as one list. When its revision is forgotten on the way, it begins again: a mixture of two revisions would
 * let a watch from the list's revision miss changes. The list has the revision of its pages, and is frozen; its items are the server's.
 */
export async function readAllPages<T extends KubeObject>(
  readPage: (page: PageRequest) => Promise<ObjectList<Stored<T>>>,
): Promise<ObjectList<Stored<T>>> {
  for (let restarts = 0; restarts < maxRestarts; restarts++) {
    try {
      return await readPages(readPage);
    } catch (thrown) {
      if (!isGone(thrown)) throw thrown;
    }
  }
  return readPage({ isFirst: true });
}

/** From the first page to the last, one after another: each token comes with the page before. */
async function readPages<T extends KubeObject>(
  readPage: (page: PageRequest) => Promise<ObjectList<Stored<T>>>,
): Promise<ObjectList<Stored<T>>> {
  const first = await readPage({ limit: pageSize, isFirst: true });
  if (!first.metadata.continue) return first;
  const items = [...first.items];
  for (let token: string | undefined = first.metadata.continue; token; ) {
    const page: ObjectList<Stored<T>> = await readPage({ limit: pageSize, continue: token, isFirst: false });
    items.push(...page.items);
    token = page.metadata.continue;
  }
  const { resourceVersion } = first.metadata;
  return Object.freeze({ ...first, metadata: Object.freeze({ resourceVersion }), items: Object.freeze(items) });
}
