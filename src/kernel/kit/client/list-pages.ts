import { isGone, type KubeObject, type ObjectList, type Stored } from "#kernel/model/index.ts";

export const pageSize = 500;
/** After so many expired listings the list is read in one piece. */
const maxRestarts = 3;

/** Only the first page carries the wanted revision: a token has its own. */
interface PageRequest {
  readonly limit?: number;
  readonly continue?: string;
  readonly isFirst: boolean;
}

/** Reads all pages as one list. Starts over if the revision expires: a watch needs one revision. */
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
