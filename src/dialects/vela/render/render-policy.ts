import { defined, err, type JsonObject, ok, type Result } from "#lib/base/index.ts";
import { asJson } from "#kernel/model/index.ts";
import { type Policy, withSubSteps } from "../app.ts";
import { label } from "../labels.ts";
import { appContext, type ContextOptions } from "./context.ts";
import { nameOther, namespaceFor, objectFault } from "./naming.ts";
import { findDefinition, renderObjects, type RenderParts, sourceOf } from "./render-component.ts";
import type { RenderedComponent, RenderedObject } from "./rendered.ts";

/** The objects of a policy with a definition, which sees all rendered components. */
export async function renderPolicy(
  parts: RenderParts,
  policy: Policy,
  rendered: readonly RenderedComponent[],
  place: ContextOptions,
): Promise<Result<readonly RenderedObject[], string>> {
  const inPolicy = (text: string): string => `policy "${policy.name}": ${text}`;
  const definition = await findDefinition(parts, "policy", policy.type);
  if (!definition.ok) return err(inPolicy(definition.error));
  const steps = withSubSteps(parts.app.workflow.steps);
  const context = {
    ...appContext(parts.app, place),
    name: policy.name,
    artifacts: artifactsOf(rendered),
    stepTypes: [...new Set(steps.map(({ type }) => type))],
  };
  const source = sourceOf(definition.value, policy.type);
  const objects = await renderObjects(parts, source, { parameter: policy.properties, context });
  if (!objects.ok) return err(inPolicy(objects.error));
  const { output, outputs } = objects.value;
  const drafts: readonly (readonly [string | undefined, JsonObject])[] = [
    ...(output === undefined ? [] : [[undefined, output] as const]),
    ...Object.entries(outputs),
  ];
  const result: RenderedObject[] = [];
  for (const [resource, object] of drafts) {
    const fault = objectFault(object);
    if (fault !== undefined)
      return err(inPolicy(`${resource === undefined ? "output" : `outputs.${resource}`}: ${fault}`));
    const namespace = await namespaceFor(object, place.namespace, parts.isNamespaced);
    const placing = { identity: parts.app.identity, revisionHash: parts.revisionHash, namespace };
    const suffix = resource === undefined ? "" : `-${resource.toLowerCase()}`;
    result.push({
      key: `policy.${policy.name}${resource === undefined ? "" : `.${resource}`}`,
      role: "POLICY",
      ...defined({ resource }),
      object: nameOther(object, `${policy.name}${suffix}`, placing, { [label.policy]: policy.name }),
    });
  }
  return ok(result);
}

export type Artifact = { readonly workload: JsonObject; readonly traits: Readonly<Record<string, JsonObject>> };

/** `<component>.workload` and `<component>.traits.<type>.<resource>`. */
export const artifactsOf = (rendered: readonly RenderedComponent[]): Readonly<Record<string, Artifact>> =>
  Object.fromEntries(
    rendered.map(({ component, workload, auxiliaries }) => {
      const traits: Record<string, JsonObject> = {};
      for (const { trait = "", resource = "", object } of auxiliaries)
        traits[trait] = { ...traits[trait], [resource]: asJson(object) };
      return [component.name, { workload: asJson(workload.object), traits }];
    }),
  );
