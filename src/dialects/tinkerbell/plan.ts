import type { JsonObject } from "#lib/base/index.ts";
import type { ActionsPlan, TemplatePlan } from "#kernel/template/index.ts";
import type { Action, Task, WorkflowState } from "./state.ts";

// Rendered templates as actions. Settings of tasks and templates are merged into each action.

export interface Prepared extends Pick<WorkflowState, "actions" | "agentID" | "otherAgentIDs" | "timeout"> {
  readonly tasks: readonly JsonObject[];
  /** Unused values of the workflow and unknown keys of the template. */
  readonly ignored: readonly string[];
}

/** The actions of a released template: an action's settings override its task's, whose volumes come first. */
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
        // The newer field wins.
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
      ...plan.ignored.map(({ path, line }) => `${path} (line ${line} of the rendered template) is not supported`),
    ],
  };
}

/** The actions of a v1alpha2 template, for one agent. An action's volume replaces one with the same target. */
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

const fresh = (id: string, task: Task) => ({ id, task, phase: "Pending", attempts: 0 }) as const;

/** Target of `SOURCE:TARGET[:OPTIONS]`. */
const targetOf = (volume: string): string => volume.split(":")[1] ?? volume;

const namespacesOf = (pid: string, network: string): Pick<Action, "network" | "pid"> => ({
  ...(pid === "" ? {} : { pid }),
  ...(network === "" ? {} : { network }),
});

const taskStatus = (
  task: Task,
  volumes: readonly string[],
  environment: Readonly<Record<string, string>>,
): JsonObject => ({
  ...task,
  ...(volumes.length === 0 ? {} : { volumes }),
  ...(Object.keys(environment).length === 0 ? {} : { environment }),
});
