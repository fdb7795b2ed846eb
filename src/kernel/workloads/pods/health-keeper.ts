import {
  afterAwake,
  type Cancel,
  type Clock,
  type Instant,
  type Logger,
  messageOf,
  type Millis,
} from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Container, PodObject, Probe } from "../pod-types.ts";
import type { ContainerReach } from "./container-reach.ts";
import type { ContainerView } from "./container-view.ts";
import type { Hooks } from "./hooks.ts";
import { knock } from "./knock.ts";
import type { PodNotes } from "./pod-notes.ts";
import { counted, firstTally, type ProbeKind, type ProbeTally } from "./probe-tally.ts";

// What is known of a running container besides that it runs:
//
//   postStart hook  ->  startup probe  ->  readiness and liveness probes, side by side
//
// Each waits for the one before it to succeed. A hook, startup or liveness probe that fails makes the container's end necessary,
// which the pod's next pass sees to.

export interface HealthKeeperOptions {
  readonly reach: ContainerReach;
  readonly hooks: Hooks;
  readonly notes: PodNotes;
  readonly clock: Clock;
  readonly log: Logger;
  /** The pod is to be looked at again. */
  readonly wake: (pod: Stored<PodObject>) => void;
}

/** A running container as its probes see it. */
export interface Health {
  readonly started: boolean;
  readonly ready: boolean;
  /** Why it must end, with the grace that its probe gives it; undefined while nothing is wrong. */
  readonly verdict?: { readonly message: string; readonly graceMs?: Millis };
}

/** What runs without probes is healthy. */
export const plainHealth: Health = { started: true, ready: true };

/** One execution of one container, with what its probes have said so far. */
interface Watched {
  readonly pod: Stored<PodObject>;
  readonly container: Container;
  readonly task: string;
  readonly startedAt: Instant;
  readonly tallies: Map<ProbeKind, ProbeTally>;
  readonly timers: Map<ProbeKind, Cancel>;
  readonly ended: AbortController;
  hook: "none" | "running" | "done";
  verdict?: NonNullable<Health["verdict"]>;
}

const second: Millis = 1_000;

/** Asks the probes of all running containers of one node. At most one question per probe is under way. */
export class HealthKeeper {
  readonly #options: HealthKeeperOptions;
  readonly #watched = new Map<string, Watched>();

  constructor(options: HealthKeeperOptions) {
    this.#options = options;
  }

  /**
   * Begins with a container that runs; repeating it changes nothing. `isNew`: this process has just started it, so that its postStart
   * hook is due. Of others the stored status tells what they had come to.
   */
  watch(pod: Stored<PodObject>, container: Container, task: string, startedAt: Instant, isNew: boolean): void {
    if (this.#watched.has(task)) return;
    const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
    const known = isNew ? undefined : statuses.find(({ name }) => name === container.name);
    const wasSo = { startup: known?.started === true, readiness: known?.ready === true, liveness: true };
    const watched: Watched = {
      pod,
      container,
      task,
      startedAt,
      tallies: new Map(probesOf(container).map(([kind]) => [kind, firstTally(kind, wasSo[kind])])),
      timers: new Map(),
      ended: new AbortController(),
      hook: isNew && container.lifecycle?.postStart !== undefined ? "running" : "none",
    };
    this.#watched.set(task, watched);
    if (watched.hook === "running") void this.#runHook(watched);
    else this.#schedule(watched);
  }

  /** Ends the questions about what does not run any more: all of the pod's containers but these. */
  keep(uid: string, running: readonly ContainerView[]): void {
    const kept = new Set(running.flatMap(({ current }) => (current.kind === "running" ? [current.taskId] : [])));
    for (const [task, watched] of this.#watched) {
      if (watched.pod.metadata.uid === uid && !kept.has(task)) this.#end(watched);
    }
  }

  /** What is known at this moment, without asking. A container that nobody watches is as healthy as one without probes. */
  healthOf(task: string): Health {
    const watched = this.#watched.get(task);
    if (watched === undefined) return plainHealth;
    const is = (kind: ProbeKind) => (watched.tallies.get(kind)?.result ?? "success") === "success";
    const started = watched.hook !== "running" && is("startup");
    const { verdict } = watched;
    return { started, ready: started && is("readiness"), ...(verdict === undefined ? {} : { verdict }) };
  }

  /** Asks nothing more, and forgets all answers that are still to come. */
  close(): void {
    for (const watched of this.#watched.values()) this.#end(watched);
  }

  /** The answer to a question under way is dropped; a command in the container is ended where the runtime can. */
  #end(watched: Watched): void {
    this.#watched.delete(watched.task);
    watched.ended.abort(new Error("the container has ended"));
    for (const cancel of watched.timers.values()) cancel();
  }

  async #runHook(watched: Watched): Promise<void> {
    const { pod, container, ended } = watched;
    const hook = container.lifecycle?.postStart ?? {};
    try {
      await this.#options.hooks.run(watched, hook, ended.signal);
    } catch (thrown) {
      if (ended.signal.aborted) return;
      this.#options.hooks.tellFailed(pod, container.name, "PostStart", thrown);
      watched.verdict = { message: "FailedPostStartHook" };
    }
    watched.hook = "done";
    this.#options.wake(pod);
    this.#schedule(watched);
  }

  /** Every probe whose turn it is and that is not under way. */
  #schedule(watched: Watched): void {
    const hasStarted = (watched.tallies.get("startup")?.result ?? "success") === "success";
    for (const [kind, probe] of probesOf(watched.container)) {
      if (watched.timers.has(kind) || hasStarted === (kind === "startup")) continue;
      const first = watched.startedAt + second * (probe.initialDelaySeconds ?? 0);
      this.#askAfter(watched, kind, probe, Math.max(0, first - this.#options.clock.now()));
    }
  }

  /** One timer per probe: the next question is planned when the last one was answered, so that slow answers never pile up. */
  #askAfter(watched: Watched, kind: ProbeKind, probe: Probe, delay: Millis): void {
    const ask = () => {
      void this.#ask(watched, kind, probe).catch((thrown: unknown) =>
        this.#options.log.warn("a probe cannot be asked", {
          container: watched.container.name,
          error: messageOf(thrown),
        }),
      );
    };
    watched.timers.set(kind, this.#options.clock.after(delay, ask));
  }

  /**
   * Counts one answer. The pod is looked at again only when it has changed the result, not after each of thousands of equal ones.
   */
  async #ask(watched: Watched, kind: ProbeKind, probe: Probe): Promise<void> {
    const answer = await this.#answer(watched, probe);
    if (watched.ended.signal.aborted) return;
    if (!answer.succeeded) this.#options.notes.unhealthy(watched.pod, watched.container.name, kind, answer.message);
    const before = watched.tallies.get(kind) ?? firstTally(kind, false);
    const after = counted(before, answer.succeeded, probe);
    watched.tallies.set(kind, after);
    if (after.result === "failure" && kind !== "readiness") {
      const grace = probe.terminationGracePeriodSeconds;
      watched.verdict = {
        message: `Container ${watched.container.name} failed ${kind} probe`,
        ...(grace === undefined ? {} : { graceMs: second * grace }),
      };
    }
    if (after.result !== before.result) this.#options.wake(watched.pod);
    // A container that is about to end, or has started, is not asked this again.
    if (watched.verdict !== undefined) return;
    if (kind === "startup" && after.result === "success") return this.#schedule(watched);
    this.#askAfter(watched, kind, probe, second * (probe.periodSeconds ?? 10));
  }

  /** Never rejects: what does not answer in time has failed, in the kubelet's words. */
  async #answer(watched: Watched, probe: Probe): ReturnType<typeof knock> {
    const { reach, clock } = this.#options;
    const seconds = probe.timeoutSeconds ?? 1;
    const over = new AbortController();
    // A container is not ended for an answer that came while we stood still.
    const cancel = afterAwake(clock, second * seconds, () => over.abort(new Error("time-out")));
    try {
      return await knock(probe, watched, reach, AbortSignal.any([over.signal, watched.ended.signal]));
    } catch {
      return { succeeded: false, message: `probe timed out after ${seconds}s` };
    } finally {
      cancel();
    }
  }
}

function probesOf({
  startupProbe,
  livenessProbe,
  readinessProbe,
}: Container): readonly (readonly [ProbeKind, Probe])[] {
  const all = [
    ["startup", startupProbe],
    ["liveness", livenessProbe],
    ["readiness", readinessProbe],
  ] as const;
  return all.flatMap(([kind, probe]) => (probe === undefined ? [] : [[kind, probe] as const]));
}
