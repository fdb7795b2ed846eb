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
import { type Container, type PodObject, type Probe, allStatuses } from "../pod-types.ts";
import type { ContainerReach } from "./container-reach.ts";
import type { ContainerView } from "./container-view.ts";
import type { Hooks } from "./hooks.ts";
import { knock } from "./knock.ts";
import type { PodNotes } from "./pod-notes.ts";
import { counted, firstTally, type ProbeKind, type ProbeTally } from "./probe-tally.ts";

// The health of a running container: postStart hook, then startup probe, then readiness and liveness probes side by
// side. A failed hook, startup or liveness probe makes the pod's next pass end the container.

export interface HealthKeeperOptions {
  readonly reach: ContainerReach;
  readonly hooks: Hooks;
  readonly notes: PodNotes;
  readonly clock: Clock;
  readonly log: Logger;
  readonly wake: (pod: Stored<PodObject>) => void;
}

export interface Health {
  readonly started: boolean;
  readonly ready: boolean;
  /** Why it must end, and with which grace. */
  readonly verdict?: { readonly message: string; readonly graceMs?: Millis };
}

export const plainHealth: Health = { started: true, ready: true };

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

/** Runs the probes of all running containers of one node, each at most once at a time. */
export class HealthKeeper {
  readonly #options: HealthKeeperOptions;
  readonly #watched = new Map<string, Watched>();

  constructor(options: HealthKeeperOptions) {
    this.#options = options;
  }

  /** Starts probing; repeatable. `isNew`: just started here, its postStart is due; else the stored status tells. */
  watch(pod: Stored<PodObject>, container: Container, task: string, startedAt: Instant, isNew: boolean): void {
    if (this.#watched.has(task)) return;
    const statuses = allStatuses(pod.status);
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

  /** Stops probing all containers of the pod but these. */
  keep(uid: string, running: readonly ContainerView[]): void {
    const kept = new Set(running.flatMap(({ current }) => (current.kind === "running" ? [current.taskId] : [])));
    for (const [task, watched] of this.#watched) {
      if (watched.pod.metadata.uid === uid && !kept.has(task)) this.#end(watched);
    }
  }

  /** What is known now. A container that is not watched is healthy. */
  healthOf(task: string): Health {
    const watched = this.#watched.get(task);
    if (watched === undefined) return plainHealth;
    const is = (kind: ProbeKind) => (watched.tallies.get(kind)?.result ?? "success") === "success";
    const started = watched.hook !== "running" && is("startup");
    const { verdict } = watched;
    return { started, ready: started && is("readiness"), ...(verdict === undefined ? {} : { verdict }) };
  }

  close(): void {
    for (const watched of this.#watched.values()) this.#end(watched);
  }

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

  /** Starts every probe that is due and not running. */
  #schedule(watched: Watched): void {
    const hasStarted = (watched.tallies.get("startup")?.result ?? "success") === "success";
    for (const [kind, probe] of probesOf(watched.container)) {
      if (watched.timers.has(kind) || hasStarted === (kind === "startup")) continue;
      const first = watched.startedAt + second * (probe.initialDelaySeconds ?? 0);
      this.#askAfter(watched, kind, probe, Math.max(0, first - this.#options.clock.now()));
    }
  }

  /** The next question is scheduled after the last answer, so that slow answers do not pile up. */
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

  /** Counts one answer. The pod is reconciled only if it changes the result. */
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
    // A container that is to end, or has started, is not asked again.
    if (watched.verdict !== undefined) return;
    if (kind === "startup" && after.result === "success") return this.#schedule(watched);
    this.#askAfter(watched, kind, probe, second * (probe.periodSeconds ?? 10));
  }

  /** Never rejects: a timeout is a failure, in the kubelet's words. */
  async #answer(watched: Watched, probe: Probe): ReturnType<typeof knock> {
    const { reach, clock } = this.#options;
    const seconds = probe.timeoutSeconds ?? 1;
    const over = new AbortController();
    // Time in which this process stood still does not count.
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
