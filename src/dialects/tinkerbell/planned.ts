import type { JsonObject } from "#lib/base/index.ts";
import type { ActionsPlan, TemplatePlan } from "#kernel/template/index.ts";
import type { Action, Task, WorkflowState } from "./state.ts";

// What rendered templates say, as actions of a workflow. What holds for several actions is merged into each, because agents are told actions
// and nothing else.

/** What a workflow is to do, and for whom. */
export interface Prepared extends Pick<WorkflowState, "actions" | "agentID" | "otherAgentIDs" | "timeout"> {
  /** What the tasks say for all of their actions, as released statuses have it beside these. */
  readonly tasks: readonly JsonObject[];
  /** Values of the workflow that mean nothing, and keys of the template that do not. */
  readonly ignored: readonly string[];
}

/**
 * The actions of a released template. What a task says for all of its actions is merged into each: an action's own word wins, volumes of
 * the task come first.
 */
export function tasksOfPlan(plan: TemplatePlan, newId: () => string): Prepared {
  const tasks = plan.tasks.map(({ name, worker, ...rest }) => ({
    ...rest,
    task: { id: newId(), name, agentID: worker },
  }));
  const actions = tasks.flatMap(({ task, ...planned }) =>
    planned.actions.map(
      ({ command, timeout, namespaces, name, image, ...action }): Action => ({
        ...fresh(newId(), task),
        name,
        image,
        args: command,
        env: { ...planned.environment, ...action.environment },
        volumes: [...planned.volumes, ...action.volumes],
        timeout: timeout * 1000,
        // The newer place wins.
        ...namespacesOf(namespaces.pid || action.pid, namespaces.network),
      }),
    ),
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

/** The actions of a template of v1alpha2, all for one agent. A volume of an action takes the place of the template's of the same target. */
export function actionsOfPlan(plan: ActionsPlan, agentID: string, newId: () => string): readonly Action[] {
  const task: Task = { id: "", name: "", agentID };
  return plan.actions.map(({ cmd, namespaces, env, volumes, name, image, args }) => {
    const own = new Set(volumes.map(targetOf));
    return {
      ...fresh(newId(), task),
      name,
      image,
      ...(cmd === "" ? {} : { cmd }),
      args,
      env: { ...plan.env, ...env },
      volumes: [...plan.volumes.filter((volume) => !own.has(targetOf(volume))), ...volumes],
      timeout: 0,
      ...namespacesOf(String(namespaces.pid), namespaces.network),
    };
  });
}

/** What every action has before anything happens to it. */
const fresh = (id: string, task: Task) => ({ id, task, phase: "Pending", attempts: 0 }) as const;

/** Where a volume is mounted: `SOURCE:TARGET[:OPTIONS]`. */
const targetOf = (volume: string): string => volume.split(":")[1] ?? volume;

/** An empty text is the container's own. */
const namespacesOf = (pid: string, network: string): Pick<Action, "network" | "pid"> => ({
  ...(pid === "" ? {} : { pid }),
  ...(network === "" ? {} : { network }),
});

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
