import { type JsonObject, numberAt, objectAt, objectsAt, textAt, textsAt } from "#lib/base/index.ts";
import type { App, Policy } from "../app.ts";
import { deploy as deployTo } from "../delivery/deploy.ts";
import { placementsOf } from "../policies/topology.ts";
import { type Action, done, failure, inBothForms, namespaceOf } from "./form.ts";

/** The policies that an action names, and those that it brings along. */
function policiesOf(params: JsonObject, app: App): readonly Policy[] | string {
  const named = textsAt(params, "policies").map((name) => app.policies.find((policy) => policy.name === name) ?? name);
  const unknown = named.find((policy) => typeof policy === "string");
  if (unknown !== undefined) return `policy ${unknown} not found`;
  const inline = objectsAt(params, "inlinePolicies").map((policy) => ({
    name: textAt(policy, "name") ?? "",
    type: textAt(policy, "type") ?? "",
    properties: objectAt(policy, "properties") ?? {},
  }));
  return [...named.flatMap((policy) => (typeof policy === "string" ? [] : [policy])), ...inline];
}

const deploy: Action = async (params, scope) => {
  const policies = policiesOf(params, scope.app);
  if (typeof policies === "string") return failure(policies);
  const outcome = await deployTo({ policies, parallelism: numberAt(params, "parallelism") ?? 5 }, scope);
  switch (outcome.kind) {
    case "done":
      return done();
    case "wait":
      return { kind: "wait", message: outcome.reasons.join("; ") };
    case "error":
      return failure(outcome.message);
  }
};

const listClusters: Action = async (_params, { clusters, signal }) => {
  const names = (await clusters.list(signal)).map(({ name }) => name);
  return done({ outputs: { clusters: names } });
};

const placements: Action = async (params, scope) => {
  const policies = policiesOf(params, scope.app);
  if (typeof policies === "string") return failure(policies);
  const found = placementsOf(policies, await scope.clusters.list(scope.signal));
  if (!found.ok) return failure(found.error);
  return done({
    placements: found.value.map(({ cluster, namespace }) => ({ cluster, namespace: namespace ?? namespaceOf(scope) })),
  });
};

export const multiclusterProviders = inBothForms("multicluster", {
  deploy,
  "list-clusters": listClusters,
  "get-placements-from-topology-policies": placements,
});
