import type { Stored } from "#kernel/model/index.ts";
import { hasEnded, type Interaction, type PodSessions, type Runtime } from "#kernel/runtimes/index.ts";
import type { PodObject } from "../pod-types.ts";
import { attachToLog, refuseInput } from "./attach.ts";
import type { ContainerReach } from "./container-reach.ts";
import { dial } from "./dial.ts";
import { runningContainer } from "./running-container.ts";

export interface PodSessionsOptions {
  readonly runtime: Runtime;
  readonly reach: ContainerReach;
  readonly directory: string;
}

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
      // Ends by itself when the container has ended and its output is read.
      return attachToLog(target, request, { directory, runtime });
    },
    async connect(object, port, signal) {
      const address = reach.addressOf(object as Stored<PodObject>);
      if (address === undefined) throw new Error("the pod has no network now");
      return await dial(address, port, signal);
    },
  };
}

function endWith(runtime: Runtime, task: string, interaction: Interaction): void {
  const cancel = runtime.subscribe((status) => {
    if (status.id === task && hasEnded(status)) interaction.kill();
  });
  interaction.ended.then(cancel, cancel);
  const status = runtime.find(task);
  if (status === undefined || hasEnded(status)) interaction.kill();
}
