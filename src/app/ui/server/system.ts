import type { PageCaller } from "#kernel/apiserver/index.ts";
import { asJson, isForbidden, isNotFound, Node } from "#kernel/model/index.ts";
import { type JsonObject, objectsAt, textAt } from "#lib/base/index.ts";
import type { SystemState } from "../wire.ts";
import type { UiContext } from "./context.ts";

/** As far as the caller may read the status of the server and its nodes. */
export async function systemState(context: UiContext, caller: PageCaller): Promise<SystemState> {
  const { client, identity } = caller;
  const about = caller.mayGet("/slipway/status") ? context.about?.() : undefined;
  const { cluster } = context;
  // A cluster has its own tools for thousands of nodes.
  const nodes = cluster === undefined ? await orNothing(client.list(Node).then(({ items }) => items)) : [];
  const upstream = cluster === undefined ? [] : [{ serves: "the Kubernetes API", address: cluster.server }];
  const runs = (await context.index()).list().length;
  return {
    version: textAt(about, "version") ?? context.version,
    user: identity.user,
    ports: [
      ...upstream,
      ...objectsAt(about, "ports").map((port) => ({
        serves: textAt(port, "serves") ?? "",
        address: textAt(port, "address") ?? "",
        ...(textAt(port, "trouble") === undefined ? {} : { trouble: textAt(port, "trouble") ?? "" }),
      })),
    ],
    conditions: (nodes ?? []).flatMap((node) => objectsAt(asJson(node), "status", "conditions").map(conditionOf)),
    figures: { runs },
  };
}

const conditionOf = (condition: JsonObject): SystemState["conditions"][number] => ({
  type: textAt(condition, "type") ?? "",
  isTrue: condition["status"] === "True",
  message: textAt(condition, "message") ?? "",
});

async function orNothing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (isForbidden(thrown) || isNotFound(thrown)) return undefined;
    throw thrown;
  }
}
