import { type EventRecorder, regardingOf } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Task } from "#kernel/runtimes/index.ts";
import type { Container, PodObject } from "../pod-types.ts";
import type { PodPlan } from "./plan-pod.ts";
import type { RuntimeTraits, Support } from "./support.ts";

type NotedPod = Stored<PodObject>;

/** What users are told of pods, as events. Every text the pod runner says to them is here or in the plan. */
export class PodNotes {
  readonly #events: EventRecorder;

  constructor(events: EventRecorder) {
    this.#events = events;
  }

  scheduled(pod: NotedPod, node: string): void {
    const { namespace = "", name } = pod.metadata;
    this.#tell(pod, "Normal", "Scheduled", "Bind", `assigned ${namespace}/${name} to ${node}`);
  }

  unschedulable(pod: NotedPod, message: string): void {
    this.#tell(pod, "Warning", "FailedScheduling", "Schedule", message);
  }

  started(pod: NotedPod, { name, image }: Container, task: Task, traits: RuntimeTraits): void {
    const aside = traits.images ? "" : `; image ${image ?? "(none)"} is not used`;
    this.#tell(pod, "Normal", "Created", "Create", `created container ${name} on the ${traits.name} runtime${aside}`);
    this.#tell(pod, "Normal", "Started", "Start", `started container ${name}: ${task.command[0]}`);
  }

  stopping(pod: NotedPod, container: string): void {
    this.#tell(pod, "Normal", "Killing", "Kill", `stopping container ${container}`);
  }

  /** What stands against the pod or has no effect. `told` remembers what this pod was told before. */
  findings(pod: NotedPod, plan: PodPlan, support: Support, traits: RuntimeTraits, told: Set<string>): void {
    const once = (reason: string, note: string) => {
      if (told.has(note)) return;
      told.add(note);
      this.#tell(pod, "Warning", reason, "Start", note);
    };
    if (support.warnings.length > 0) {
      once("NotSupported", `the ${traits.name} runtime does not apply: ${support.warnings.join(", ")}`);
    }
    if (plan.reason !== undefined) once(plan.reason, plan.message ?? plan.reason);
    for (const [container, waiting] of plan.waiting) {
      if (waiting.reason === "ContainerCreating" || waiting.reason === "PodInitializing") continue;
      const reason = waiting.reason === "CrashLoopBackOff" ? "BackOff" : "Failed";
      once(reason, waiting.message ?? `container ${container}: ${waiting.reason}`);
    }
  }

  #tell(pod: NotedPod, type: "Normal" | "Warning", reason: string, action: string, note: string): void {
    this.#events.record({ regarding: regardingOf(pod), type, reason, action, note });
  }
}
