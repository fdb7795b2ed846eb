import { err, ok, type Result } from "#lib/base/index.ts";
import { builtInTypes } from "../definitions/types.ts";
import type { ContextOptions } from "./context.ts";
import { renderComponent, type RenderParts } from "./render-component.ts";
import { renderPolicy } from "./render-policy.ts";
import type { RenderedComponent, RenderedObject } from "./rendered.ts";

export interface RenderedApp {
  readonly components: readonly RenderedComponent[];
  /** Of policies with definitions. */
  readonly policies: readonly RenderedObject[];
}

/** What is wrong, by the stage whose condition shows it. */
export interface RenderProblems {
  readonly stage: "Render" | "Policy";
  readonly problems: readonly string[];
}

/** Components first, then policies, which see them. All problems of a stage at once. */
export async function renderAll(
  parts: RenderParts,
  place: ContextOptions,
): Promise<Result<RenderedApp, RenderProblems>> {
  const components: RenderedComponent[] = [];
  const problems: string[] = [];
  for (const component of parts.app.components) {
    const rendered = await renderComponent(parts, component, place);
    if (rendered.ok) components.push(rendered.value);
    else problems.push(rendered.error);
  }
  if (problems.length > 0) return err({ stage: "Render", problems });
  const policies: RenderedObject[] = [];
  for (const policy of parts.app.policies) {
    if (builtInTypes.policy.includes(policy.type)) continue;
    const rendered = await renderPolicy(parts, policy, components, place);
    if (rendered.ok) policies.push(...rendered.value);
    else problems.push(rendered.error);
  }
  return problems.length > 0 ? err({ stage: "Policy", problems }) : ok({ components, policies });
}

export const allObjects = ({ components, policies }: RenderedApp): readonly RenderedObject[] => [
  ...components.flatMap(({ workload, auxiliaries }) => [workload, ...auxiliaries]),
  ...policies,
];
