import { recover } from "#lib/base/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { changeObject } from "../verbs/change.ts";
import type { ApiContext } from "../verbs/context.ts";
import { metaText } from "../verbs/metadata.ts";

/** Changes an object's newest state, unless it is gone or replaced. Returning the argument writes nothing. */
export async function editEntry(
  context: ApiContext,
  resource: ServedResource,
  { key, uid }: Entry,
  edit: (object: JsonObject) => JsonObject,
): Promise<void> {
  const { namespace, name } = key;
  const compute = (old: JsonObject) => ({ object: metaText(old, "uid") === uid ? edit(old) : old, warnings: [] });
  const change = { resource, namespace, name, endpoint: "main", request: {}, replaces: false, compute } as const;
  await changeObject(context, change).catch(recover(isNotFound, undefined));
}
