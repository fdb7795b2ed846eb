import { s } from "#lib/schema/index.ts";
import { free, text, texts } from "./fields.ts";

export const Inputs = s.optional(
  s.list(
    s.object({
      from: s.string({ description: "A variable, or a path in context or parameter." }),
      parameterKey: text("The parameter that the value replaces; if empty, only conditions see the value."),
    }),
    { description: "Values this waits for." },
  ),
);

export const Outputs = s.optional(
  s.list(
    s.object({
      name: s.string({ description: "Name of the variable." }),
      valueFrom: s.string({ description: "CUE path or expression of the value." }),
    }),
    { description: "Values this provides as variables." },
  ),
);

const mode = (description: string) => s.optional(s.oneOf(["StepByStep", "DAG"], { description }));

export const Mode = s.optional(
  s.object(
    {
      steps: mode("How steps are ordered: StepByStep or DAG."),
      subSteps: mode("How the steps of a group are ordered: StepByStep or DAG."),
    },
    { description: "Order of steps and sub-steps." },
  ),
);

const commonFields = {
  name: text("Unique name; default: step-INDEX, or step-INDEX-INDEX for a sub-step."),
  type: s.string({ description: "Name of a WorkflowStepDefinition, or a built-in type." }),
  meta: s.optional(s.object({ alias: text("Name for people.") }, { description: "Names for people." })),
  if: text("CUE condition, or always."),
  timeout: text("Longest time since the first execution: 30s, 5m, 1h or 1d."),
  dependsOn: texts("Names of steps that run before this one."),
  inputs: Inputs,
  outputs: Outputs,
  properties: free("Parameter of the definition."),
  retry: s.optional(
    s.object(
      {
        limit: s.integer({ minimum: 0, description: "Retries after the first failure." }),
        backoff: s.optional(
          s.object(
            {
              duration: s.string({ description: "Delay before the first retry." }),
              factor: s.optional(s.number({ minimum: 1, description: "Growth of the delay; default: 2." })),
              cap: text("Longest delay; default: 5m."),
            },
            { description: "Delays between retries." },
          ),
        ),
      },
      { description: "Retries after errors, instead of the server's settings." },
    ),
  ),
};

const SubStep = s.object(commonFields);

export const Step = s.object({
  ...commonFields,
  stage: s.optional(
    s.oneOf(["pre-render", "post-render"], {
      description: "Whether it runs before the application is rendered; default: post-render.",
    }),
  ),
  mode: mode("Order of the sub-steps of a step-group."),
  subSteps: s.optional(s.list(SubStep, { description: "Steps of a step-group." })),
});

export const Steps = s.optional(s.list(Step, { description: "Steps in order." }));
