import { isJsonObject, type JsonObject, type JsonValue, type Result, err, ok } from "#lib/base/index.ts";
import type { TemplateFailure, TemplateHost, TemplatePlan } from "#kernel/template/index.ts";
import { agentOfHardware, type AnyHardware } from "./hardware.ts";
import type { AnyTemplate } from "./inputs.ts";
import { shapeOfTemplate } from "./shape.ts";
import type { Action, Task, WorkflowState } from "./state.ts";
import type { AnyWorkflow } from "./stored.ts";

/** What renders, as far as it is needed here. */
export type Renderer = Pick<TemplateHost, "render">;

/** A workflow and what it is made of. */
export interface Ingredients {
  readonly workflow: AnyWorkflow;
  readonly template: AnyTemplate;
  /** Absent where none is named. */
  readonly hardware: AnyHardware | undefined;
}

/** Why a workflow cannot be prepared. */
export interface PrepareFailure {
  readonly message: string;
  /** Nothing but a change of the template or the hardware can help. */
  readonly isFinal: boolean;
}

/** What a workflow is to do, and for whom. */
export interface Prepared extends Pick<WorkflowState, "actions" | "agentID" | "timeout"> {
  /** What the tasks say for all of their actions, as released statuses have it beside these. */
  readonly tasks: readonly JsonObject[];
  /** Values of the workflow that mean nothing, and keys of the template that do not. */
  readonly ignored: readonly string[];
}

/** Carries out the templates of a workflow, which takes a snapshot of them: later changes do not reach it. */
export async function prepare(
  ingredients: Ingredients,
  renderer: Renderer,
  newId: () => string,
  signal: AbortSignal,
): Promise<Result<Prepared, PrepareFailure>> {
  const { workflow, template, hardware } = ingredients;
  const name = template.metadata.name ?? "";
  const shape = shapeOfTemplate(template.spec) ?? "A";
  if (shape !== "A")
    return err({ message: `template "${name}" has shape ${shape}, the workflow shape A`, isFinal: true });
  const rendered = await renderer.render(
    {
      id: workflow.metadata.name ?? "",
      text: textOf(template.spec?.["data"]),
      values: textsOf(workflow.spec?.["hardwareMap"]),
      ...(hardware === undefined ? {} : { hardware }),
      functions: { legacy: template.metadata.annotations?.["slipway.dev/template-functions"] === "legacy" },
    },
    signal,
  );
  return rendered.ok ? ok(fromPlan(rendered.value, newId)) : err(failureOf(rendered.error));
}

/** A template without a text is an empty one, which the renderer tells in its own words. */
const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
const textsOf = (value: JsonValue | undefined): Readonly<Record<string, string>> =>
  isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, text]) => (typeof text === "string" ? [[key, text]] : [])),
      )
    : {};

/** Only what a template says of itself is its own fault. */
const failureOf = ({ kind, message }: TemplateFailure): PrepareFailure => ({ message, isFinal: kind === "template" });

/** What tasks say for all of their actions is merged into each: an action's own word wins, volumes of the task come first. */
function fromPlan(plan: TemplatePlan, newId: () => string): Prepared {
  const tasks = plan.tasks.map(({ name, worker, ...rest }) => ({
    ...rest,
    task: { id: newId(), name, agentID: worker },
  }));
  const actions = tasks.flatMap(({ task, ...planned }) =>
    planned.actions.map((action): Action => {
      const pid = action.namespaces.pid || action.pid;
      const { network } = action.namespaces;
      return {
        id: newId(),
        name: action.name,
        image: action.image,
        args: action.command,
        env: { ...planned.environment, ...action.environment },
        volumes: [...planned.volumes, ...action.volumes],
        timeout: action.timeout * 1000,
        task,
        phase: "Pending",
        attempts: 0,
        ...(pid === "" ? {} : { pid }),
        ...(network === "" ? {} : { network }),
      };
    }),
  );
  return {
    actions,
    agentID: actions[0]?.task.agentID ?? "",
    timeout: plan.globalTimeout * 1000,
    tasks: tasks.map(({ task, volumes, environment }) => taskStatus(task, volumes, environment)),
    ignored: [
      ...plan.overwritten.map((key) => `hardwareMap.${key} is overwritten by what the template has under that name`),
      ...plan.ignored.map(({ path, line }) => `${path} (line ${line} of the rendered template) is not carried out`),
    ],
  };
}

/** What released statuses show of a task; an agent is told the actions alone, into which this is merged. */
const taskStatus = (
  task: Task,
  volumes: readonly string[],
  environment: Readonly<Record<string, string>>,
): JsonObject => ({
  ...task,
  ...(volumes.length === 0 ? {} : { volumes }),
  ...(Object.keys(environment).length === 0 ? {} : { environment }),
});

/** The agent of a workflow that is not prepared, as far as that can be told: of a released template nobody knows. */
export const expectedAgent = (hardware: AnyHardware | undefined): string =>
  hardware === undefined ? "" : agentOfHardware(hardware);
