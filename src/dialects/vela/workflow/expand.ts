import type { App, Component, Step, VelaWorkflow } from "../app.ts";
import { componentOf } from "./gates.ts";

/** The workflow of an application: steps that apply a component take over its inputs, outputs and dependencies. */
export function expandWorkflow({ components, workflow }: App): VelaWorkflow {
  const names = new Set(workflow.steps.flatMap((step) => [step.name, ...step.subSteps.map(({ name }) => name)]));
  const expand = (step: Step, siblings: readonly Step[]): Step => {
    const component = components.find(({ name }) => name === componentOf(step));
    const own = component === undefined ? step : takeOver(step, component, siblings, names);
    return own.subSteps.length === 0 ? own : { ...own, subSteps: own.subSteps.map((sub) => expand(sub, own.subSteps)) };
  };
  return { ...workflow, steps: workflow.steps.map((step) => expand(step, workflow.steps)) };
}

function takeOver(step: Step, component: Component, siblings: readonly Step[], names: ReadonlySet<string>): Step {
  const inputs = component.inputs.map(({ from, parameterKey }) => ({ from, parameterKey: keyOf(parameterKey) }));
  const known = (list: readonly { readonly name: string }[], name: string) => list.some((each) => each.name === name);
  // A chain needs no dependency on what comes before, and must not wait for what comes later.
  const earlier = siblings.slice(0, siblings.indexOf(step));
  const dependsOn = component.dependsOn.filter((name) => names.has(name) && (known(earlier, name) || isOpen(siblings)));
  return {
    ...step,
    inputs: [...step.inputs, ...inputs.filter(({ from }) => !step.inputs.some((input) => input.from === from))],
    outputs: [...step.outputs, ...component.outputs.filter(({ name }) => !known(step.outputs, name))],
    dependsOn: [...new Set([...step.dependsOn, ...dependsOn])],
  };
}

/** Generated steps, one for each component, are in no order. */
const isOpen = (siblings: readonly Step[]): boolean => siblings.every((step) => componentOf(step) === step.name);

const keyOf = (key: string): string => {
  if (key === "") return "";
  return key.startsWith("properties") || key.startsWith("traits[") ? `value.${key}` : `value.properties.${key}`;
};
