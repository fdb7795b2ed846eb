import { defined, err, ok, type Result, textAt } from "#lib/base/index.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { type KubeObject, type Stored } from "#kernel/model/index.ts";
import { rollbackSource } from "../revision/history.ts";
import { revisionNumber } from "../revision/decide.ts";
import { ApplicationRevision } from "../kinds.ts";
import type { RenderedObject } from "../render/rendered.ts";
import { listRevisions, readRenderedResources } from "../revision/store.ts";
import type { ActionScope, Provider } from "./provider.ts";
import { fail, failure } from "./form.ts";
import { inputOf, returning } from "./use-case-value.ts";

/**
 * `app/rollback`: applies the rendered objects of an earlier revision that succeeded, and removes those that only the
 * present one has. The specification stays.
 */
export const rollback: Provider = async (value, scope) => {
  const wanted = textAt(inputOf(value), "revision");
  const revision = await chooseRevision(wanted, scope);
  if (!revision.ok) return fail(revision.error);
  const { name } = revision.value.metadata;
  const former = await objectsOf(revision.value, scope);
  if (former.length === 0) return failure(`revision "${name}" has no rendered resources`);
  const applied = await scope.delivery.apply(former, local, "workflow");
  if (!applied.ok) return failure(applied.error);
  const kept = new Set(former.map(idOf));
  const present = await readRevision(scope.app.identity.revision, scope);
  for (const fresh of present === undefined ? [] : (await objectsOf(present, scope)).toReversed()) {
    // The controller keeps the objects of policies.
    if (fresh.role === "POLICY" || kept.has(idOf(fresh))) continue;
    const removed = await scope.delivery.remove(fresh.object, local);
    if (!removed.ok) return failure(removed.error);
  }
  scope.say(`rolled back to ${name}`);
  return returning({ revision: name });
};

const local = { cluster: "local" } as const;

const idOf = ({ object: { apiVersion, kind, metadata } }: RenderedObject): string =>
  [apiVersion, kind, metadata.namespace ?? "", metadata.name].join("/");

const readRevision = (name: string, { app, records, signal }: ActionScope): Promise<Stored | undefined> =>
  getOrUndefined(records, { type: ApplicationRevision, namespace: app.identity.namespace, name }, signal);

/** Revisions are records of the controller, which made them for this application. */
async function objectsOf(revision: Stored, { records, signal }: ActionScope): Promise<readonly RenderedObject[]> {
  const objects = await readRenderedResources({ client: records, signal }, revision);
  return [...objects].map(([key, object]) => renderedObject(key, object));
}

async function chooseRevision(wanted: string | undefined, scope: ActionScope): Promise<Result<Stored, string>> {
  const { name, namespace, revision } = scope.app.identity;
  const { records: client, clock, signal } = scope;
  const items = await listRevisions({ client, clock, signal }, { metadata: { name, namespace } });
  const own = items.filter((each) => each.metadata.name === `${name}-v${revisionNumber(each)}`);
  const found =
    wanted === undefined ? rollbackSource(own, revision) : own.find((each) => each.metadata.name === wanted);
  if (found !== undefined) return ok(found);
  return err(wanted === undefined ? "there is no earlier revision that succeeded" : `revision "${wanted}" not found`);
}

/** What the object is says its labels. */
function renderedObject(key: string, object: KubeObject): RenderedObject {
  const label = (name: string): string | undefined => object.metadata.labels?.[name];
  const role = key.startsWith("policy.")
    ? "POLICY"
    : label("app.oam.dev/resourceType") === "TRAIT"
      ? "TRAIT"
      : "WORKLOAD";
  const [component, trait, resource] = ["app.oam.dev/component", "trait.oam.dev/type", "trait.oam.dev/resource"].map(
    label,
  );
  return {
    key,
    role,
    object,
    ...(component === undefined || role === "POLICY" ? {} : { component }),
    ...defined({ trait, resource }),
  };
}
