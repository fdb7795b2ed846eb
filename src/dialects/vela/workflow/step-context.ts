import { defined, type JsonObject, textAt } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import type { RenderedComponent } from "../render/rendered.ts";
import { artifactsOf, type Artifact } from "../render/render-policy.ts";
import { identityContext, plainComponent } from "../render/context.ts";
import type { Component, Step } from "../app.ts";
import type { Delivery } from "../delivery/delivery.ts";
import type { Subject } from "./parts.ts";

/** `context` of a step, without what is rendered. */
export const stepContext = ({ app }: Subject, step: Step, stepId: string, group?: Step): JsonObject => ({
  ...identityContext(app.identity),
  components: app.components.map(componentSpec),
  stepName: step.name,
  stepSessionID: stepId,
  stepGroupName: group?.name ?? "",
  spanID: hashName([app.identity.uid, stepId], 16),
});

/** A component as in the document, without inputs and outputs. */
export const componentSpec = (component: Component): JsonObject => ({
  ...plainComponent(component),
  ...defined({ externalRevision: component.externalRevision }),
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
  const artifacts = await renderedArtifacts({ components }, delivery);
  if (typeof artifacts === "string") return artifacts;
  const workload = wanted === undefined ? undefined : artifacts[wanted]?.workload;
  return { ...defined({ workload }), ...(needsAll ? { artifacts: { ...artifacts } } : {}) };
}

/** What components render to; a text says what is wrong. */
export async function renderedArtifacts(
  { components }: Pick<Subject["app"], "components">,
  delivery: Delivery,
): Promise<Readonly<Record<string, Artifact>> | string> {
  const rendered: RenderedComponent[] = [];
  for (const component of components) {
    const made = await delivery.render(component);
    if (!made.ok) return made.error;
    rendered.push(made.value);
  }
  return artifactsOf(rendered);
}

const componentNameOf = ({ properties }: Step): string | undefined =>
  textAt(properties, "component") ?? textAt(properties, "name");
