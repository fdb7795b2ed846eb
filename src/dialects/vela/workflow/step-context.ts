import { type JsonObject, textAt } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { asJson } from "#kernel/model/index.ts";
import type { Component, Step } from "../app.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { Subject } from "./parts.ts";

/** `context` of a step, without what is rendered. */
export function stepContext({ app, context }: Subject, step: Step, stepId: string, group?: Step): JsonObject {
  const { identity, components } = app;
  return {
    ...identity.custom,
    ...context,
    name: identity.name,
    namespace: identity.namespace,
    appName: identity.name,
    appRevision: identity.revision,
    appRevisionNum: identity.revisionNumber,
    appLabels: identity.labels,
    appAnnotations: identity.annotations,
    components: components.map(componentSpec),
    workflowName: identity.workflowName,
    publishVersion: identity.publishVersion ?? "",
    stepName: step.name,
    stepSessionID: stepId,
    stepGroupName: group?.name ?? "",
    spanID: hashName([identity.uid, stepId], 16),
    ...(identity.custom === undefined ? {} : { custom: identity.custom }),
  };
}

/** A component as in the document, without inputs and outputs. */
export const componentSpec = ({
  name,
  type,
  properties,
  traits,
  dependsOn,
  externalRevision,
}: Component): JsonObject => ({
  name,
  type,
  properties,
  ...(traits.length === 0 ? {} : { traits: traits.map((trait) => ({ ...trait })) }),
  ...(dependsOn.length === 0 ? {} : { dependsOn }),
  ...(externalRevision === undefined ? {} : { externalRevision }),
});

/** `context.workload` and `context.artifacts`, only for templates that read them, because they cost a rendering. */
export async function renderedContext(
  { app }: Subject,
  delivery: Delivery,
  step: Step,
  template: string,
): Promise<JsonObject | string> {
  const [needsWorkload, needsAll] = [/\bcontext\.workload\b/, /\bcontext\.artifacts\b/].map((each) =>
    each.test(template),
  );
  if (!needsWorkload && !needsAll) return {};
  const wanted = componentNameOf(step) ?? (app.components.length === 1 ? app.components[0]?.name : undefined);
  const components = needsAll ? app.components : app.components.filter(({ name }) => name === wanted);
  const artifacts = await artifactsOf({ components }, delivery);
  if (typeof artifacts === "string") return artifacts;
  const workload = wanted === undefined ? undefined : artifacts[wanted]?.workload;
  return { ...(workload === undefined ? {} : { workload }), ...(needsAll ? { artifacts: { ...artifacts } } : {}) };
}

export type Artifact = { readonly workload: JsonObject; readonly traits: Readonly<Record<string, JsonObject>> };

/** What components render to; a text says what is wrong. */
export async function artifactsOf(
  { components }: Pick<Subject["app"], "components">,
  delivery: Delivery,
): Promise<Readonly<Record<string, Artifact>> | string> {
  const artifacts: Record<string, Artifact> = {};
  for (const component of components) {
    const rendered = await delivery.render(component);
    if (!rendered.ok) return rendered.error;
    const traits: Record<string, JsonObject> = {};
    for (const { trait = "", resource = "", object } of rendered.value.auxiliaries)
      traits[trait] = { ...traits[trait], [resource]: asJson(object) };
    artifacts[component.name] = { workload: asJson(rendered.value.workload.object), traits };
  }
  return artifacts;
}

const componentNameOf = ({ properties }: Step): string | undefined =>
  textAt(properties, "component") ?? textAt(properties, "name");
