import { isJsonObject, type JsonValue, type Result, err, ok } from "#lib/base/index.ts";
import type { TemplateFailure, TemplateHost, TemplateProblem } from "#kernel/template/index.ts";
import { agentsOfHardware, type AnyHardware } from "../hardware.ts";
import type { AnyTemplate } from "./inputs.ts";
import { actionsOfPlan, type Prepared, tasksOfPlan } from "../plan.ts";
import { shapeOfTemplate, shapeOfWorkflow } from "../shape.ts";
import type { AnyWorkflow } from "../stored.ts";

export type Renderer = Pick<TemplateHost, "parse" | "render" | "renderActions">;

export interface Ingredients {
  readonly workflow: AnyWorkflow;
  readonly template: AnyTemplate;
  readonly hardware: AnyHardware | undefined;
}

export interface PrepareFailure {
  readonly message: string;
  /** Only a change of the template or hardware can help. */
  readonly isFinal: boolean;
  readonly problems?: readonly TemplateProblem[];
  readonly rendered?: string;
}

export interface Kitchen {
  readonly renderer: Renderer;
  readonly maxBytes: number;
  readonly newId: () => string;
  readonly signal: AbortSignal;
}

/** Renders the template of a workflow; later changes of it have no effect. */
export async function prepare(ingredients: Ingredients, kitchen: Kitchen): Promise<Result<Prepared, PrepareFailure>> {
  const { workflow, template } = ingredients;
  const own = shapeOfWorkflow(workflow.spec);
  // An invalid template is reported in the words of the workflow's shape.
  const shape = shapeOfTemplate(template.spec) ?? own;
  if (shape !== own) {
    const message = `template "${template.metadata.name ?? ""}" has shape ${shape}, the workflow shape ${own}`;
    return err({ message, isFinal: true });
  }
  return own === "A" ? await prepareV1(ingredients, kitchen) : await prepareV2(ingredients, kitchen);
}

async function prepareV1(
  { workflow, template, hardware }: Ingredients,
  { renderer, maxBytes, newId, signal }: Kitchen,
): Promise<Result<Prepared, PrepareFailure>> {
  const rendered = await renderer.render(
    {
      id: workflow.metadata.name ?? "",
      text: textOf(template.spec?.["data"]),
      values: textsOf(workflow.spec?.["hardwareMap"]),
      ...(hardware === undefined ? {} : { hardware }),
      functions: functionsOf(template),
      maxBytes,
    },
    signal,
  );
  return rendered.ok ? ok(tasksOfPlan(rendered.value, newId)) : err(failureOf(rendered.error));
}

/** The hardware, not the template, names the agent. */
async function prepareV2(
  { workflow, template, hardware }: Ingredients,
  { renderer, maxBytes, newId, signal }: Kitchen,
): Promise<Result<Prepared, PrepareFailure>> {
  const [agentID, ...otherAgentIDs] = expectedAgents(hardware);
  if (agentID === undefined) {
    const found = hardware === undefined ? "spec.hardwareRef is missing" : `hardware "${hardware.metadata.name ?? ""}"`;
    const message = `${found}: the workflow has no agent without spec.agentID or a network interface of its hardware`;
    return err({ message, isFinal: true });
  }
  const { timeout } = workflow.spec ?? {};
  const seconds = typeof timeout === "number" ? timeout : 0;
  if (seconds > maxTimeoutSeconds) return err(tooLong(seconds));
  const { name = "", namespace = "" } = workflow.metadata;
  const rendered = await renderer.renderActions(
    {
      id: name,
      spec: template.spec ?? {},
      ...(hardware === undefined ? {} : { hardware }),
      params: textsOf(workflow.spec?.["templateParams"]),
      workflow: { name, namespace },
      functions: functionsOf(template),
      maxBytes,
    },
    signal,
  );
  if (!rendered.ok) return err(failureOf(rendered.error));
  return ok({
    actions: actionsOfPlan(rendered.value, agentID, newId),
    agentID,
    otherAgentIDs,
    timeout: seconds * 1000,
    tasks: [],
    ignored: [],
  });
}

/** 100 years, as in the renderer; much later instants cannot be stored. */
const maxTimeoutSeconds = 100 * 365 * 24 * 3600;

function tooLong(seconds: number): PrepareFailure {
  const path = "spec.timeout";
  const message = `${path}: a timeout of ${seconds} seconds is longer than 100 years (${maxTimeoutSeconds} seconds)`;
  return {
    message: `error rendering template: validating workflow template: ${message}`,
    isFinal: true,
    problems: [{ code: "workflow-invalid", message, path }],
  };
}

/** Templates from before 2024 may request the functions of that time. */
export const functionsOf = ({ metadata }: AnyTemplate): { readonly legacy: boolean } => ({
  legacy: metadata.annotations?.["slipway.dev/template-functions"] === "legacy",
});

/** A missing text counts as empty; the renderer reports it. */
const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
const textsOf = (value: JsonValue | undefined): Readonly<Record<string, string>> =>
  isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, text]) => (typeof text === "string" ? [[key, text]] : [])),
      )
    : {};

/** Only a template's own faults are final. */
const failureOf = ({ kind, message, problems, rendered }: TemplateFailure): PrepareFailure => ({
  message,
  isFinal: kind === "template",
  problems,
  ...(rendered === undefined ? {} : { rendered }),
});

/** Possible agents of a workflow that is not prepared; unknown for released templates. */
export const expectedAgents = (hardware: AnyHardware | undefined): readonly string[] =>
  hardware === undefined ? [] : agentsOfHardware(hardware);
