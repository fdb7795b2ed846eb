import type { Stored } from "#kernel/model/index.ts";
import { hasEnded, type Interaction, type PodSessions, type Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { attachToLog, refuseInput } from "./attach.ts";
import type { ContainerReach } from "./container-reach.ts";
import { dial } from "./dial.ts";
import { runningContainer } from "./running-container.ts";

export interface PodSessionsOptions {
  /** The pod runner's own. */
  readonly runtime: Runtime;
  readonly reach: ContainerReach;
  /** The pod runner's directory. */
  readonly directory: string;
}

/** Those of the pods that the local pod runner runs. */
export function createPodSessions({ runtime, reach, directory }: PodSessionsOptions): PodSessions {
  return {
    async check(object, request, what) {
      await runningContainer(object as Stored<PodObject>, request.container, runtime);
      if (what === "attach") refuseInput(request);
    },
    async exec(object, command, request) {
      const target = await runningContainer(object as Stored<PodObject>, request.container, runtime);
      const interaction = await reach.interact(target, command, request);
      endWith(runtime, target.task, interaction);
      return interaction;
    },
    async attach(object, request) {
      const target = await runningContainer(object as Stored<PodObject>, request.container, runtime);
      // It ends by itself with the container, once everything that this has printed is read.
      return attachToLog(target, request, { directory, runtime });
    },
    async connect(object, port, signal) {
      const address = reach.addressOf(object as Stored<PodObject>);
      if (address === undefined) throw new Error("the pod has no network now");
      return await dial(address, port, signal);
    },
  };
}

/** No command stays when its container ends. */
function endWith(runtime: Runtime, task: string, interaction: Interaction): void {
  const cancel = runtime.subscribe((status) => {
    if (status.id === task && hasEnded(status)) interaction.kill();
  });
  interaction.ended.then(cancel, cancel);
  const status = runtime.find(task);
  if (status === undefined || hasEnded(status)) interaction.kill();
}
