import type { Millis } from "#lib/base/index.ts";
import { type EventRecorder, regardingOf } from "#kernel/kit/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Container, PodObject } from "../pod-types.ts";
import type { PodPlan } from "./plan-pod.ts";
import type { ProbeKind } from "./probe-tally.ts";
import type { RuntimeTraits, Support } from "./support.ts";

type NotedPod = Stored<PodObject>;

/** The events of pods. */
export class PodNotes {
  readonly #events: EventRecorder;

  constructor(events: EventRecorder) {
    this.#events = events;
  }

  // Reasons and first words are those of the scheduler and the kubelet.

  scheduled(pod: NotedPod, node: string): void {
    const { namespace = "", name } = pod.metadata;
    this.#tell(pod, "Normal", "Scheduled", "Bind", `assigned ${namespace}/${name} to ${node}`);
  }

  unschedulable(pod: NotedPod, message: string): void {
    this.#tell(pod, "Warning", "FailedScheduling", "Schedule", message);
  }

  pulling(pod: NotedPod, image: string): void {
    this.#tell(pod, "Normal", "Pulling", "Pull", `Pulling image "${image}"`);
  }

  pulled(pod: NotedPod, image: string, took: Millis): void {
    this.#tell(pod, "Normal", "Pulled", "Pull", `Successfully pulled image "${image}" in ${Math.round(took)}ms`);
  }

  imagePresent(pod: NotedPod, image: string): void {
    this.#tell(pod, "Normal", "Pulled", "Pull", `Container image "${image}" already present on machine`);
  }

  hookFailed(pod: NotedPod, container: string, which: "PostStart" | "PreStop", message: string): void {
    const note = `${which}Hook of container ${container} failed: ${message}`;
    this.#tell(pod, "Warning", `Failed${which}Hook`, "Hook", note);
  }

  unhealthy(pod: NotedPod, container: string, kind: ProbeKind, message: string): void {
    const word = `${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    this.#tell(pod, "Warning", "Unhealthy", "Probe", `${word} probe of container ${container} failed: ${message}`);
  }

  /** Never with arguments: they may hold secrets, and many people read events. */
  started(pod: NotedPod, { name, image, command, args }: Container, traits: RuntimeTraits): void {
    if (traits.images) {
      this.#tell(pod, "Normal", "Created", "Create", `Created container ${name}`);
      this.#tell(pod, "Normal", "Started", "Start", `Started container ${name}`);
      return;
    }
    const aside = `; image ${image ?? "(none)"} is not used`;
    this.#tell(pod, "Normal", "Created", "Create", `created container ${name} on the ${traits.name} runtime${aside}`);
    this.#tell(
      pod,
      "Normal",
      "Started",
      "Start",
      `started container ${name}: ${[...(command ?? []), ...(args ?? [])][0]}`,
    );
  }

  notRefreshed(pod: NotedPod, problems: readonly string[]): void {
    this.#tell(pod, "Warning", "FailedMount", "Mount", `MountVolume.SetUp failed: ${problems.join("; ")}`);
  }

  incomplete(pod: NotedPod, container: string, note: string): void {
    this.#tell(pod, "Warning", "LogIncomplete", "Log", `container ${container}: ${note}`);
  }

  stopping(pod: NotedPod, container: string, why?: string): void {
    this.#tell(pod, "Normal", "Killing", "Kill", why ?? `stopping container ${container}`);
  }

  /** The containers run all the same. Once for each reason. */
  serverOutOfReach(pod: NotedPod, message: string, told: Set<string>): void {
    const note = `containers of this pod cannot reach the API server: ${message}`;
    if (told.has(note)) return;
    told.add(note);
    this.#tell(pod, "Warning", "NotSupported", "Start", note);
  }

  /** Once for each reason. */
  runtimeFailed(pod: NotedPod, message: string, told: Set<string>): void {
    if (told.has(message)) return;
    told.add(message);
    this.#tell(pod, "Warning", "RuntimeNotReady", "Start", message);
  }

  /** `told` holds what this pod was told before. */
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
      const reason = waiting.reason.endsWith("BackOff") ? "BackOff" : "Failed";
      once(reason, waiting.message ?? `container ${container}: ${waiting.reason}`);
    }
  }

  #tell(pod: NotedPod, type: "Normal" | "Warning", reason: string, action: string, note: string): void {
    this.#events.record({ regarding: regardingOf(pod), type, reason, action, note });
  }
}
