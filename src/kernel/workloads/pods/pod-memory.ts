import type { Instant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import type { Lacking } from "./pod-artifacts.ts";
import { podPaths } from "./pod-paths.ts";
import type { Support } from "./support.ts";

/**
 * What is remembered of a pod while it runs. Everything can be found again after a restart, but for `calmSince`, without which a
 * container may wait longer for its next start, and `told`, without which an event may be told again.
 */
export interface PodMemory {
  /** When this process first saw the pod. */
  readonly acceptedAt: Instant;
  /** Directory of its logs; the pod itself may be gone when it is needed. */
  readonly logs: string;
  /** Termination messages by task. */
  readonly messages: Map<string, string>;
  /** By container: restarts below this number count no more for the back-off. */
  readonly calmSince: Map<string, number>;
  /** By task: when the grace of the shortest stop so far is over. */
  readonly stopUntil: Map<string, Instant>;
  /** Texts of events that are told once. */
  readonly told: Set<string>;
  /** What the runtime makes of the pod; its spec does not change in what matters for it. */
  support: Support | undefined;
  /** Why the machine has no room for it. For good, as a pod that fails does not come back. */
  evicted: string | undefined;
  volumesMade: boolean;
  artifactsMade: boolean;
  /** What it takes cannot be had. For good as well. */
  lacking: Lacking | undefined;
  /** Its end is written down and its files are gone. */
  settled: boolean;
  /** Since when the stored status has been behind. */
  behindSince: Instant | undefined;
}

/** Memories of all pods, by key and uid: a name can have had several pods, of which one exists. Forgotten with their pods. */
export class PodMemories {
  readonly #directory: string;
  readonly #byKey = new Map<string, Map<string, PodMemory>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The memory of a pod, begun at `now` when there is none. */
  of(key: string, pod: Stored<PodObject>, now: Instant): PodMemory {
    const { uid } = pod.metadata;
    const byUid = this.#byKey.get(key) ?? new Map<string, PodMemory>();
    this.#byKey.set(key, byUid);
    const memory = byUid.get(uid) ?? fresh(podPaths(this.#directory, pod).logs, now);
    byUid.set(uid, memory);
    return memory;
  }

  /** Remembered pods of this name besides the present one. */
  others(key: string, present: string | undefined): readonly (readonly [uid: string, memory: PodMemory])[] {
    return [...(this.#byKey.get(key) ?? [])].filter(([uid]) => uid !== present);
  }

  forget(key: string, uid: string): void {
    const byUid = this.#byKey.get(key);
    byUid?.delete(uid);
    if (byUid?.size === 0) this.#byKey.delete(key);
  }
}

const fresh = (logs: string, now: Instant): PodMemory => ({
  acceptedAt: now,
  logs,
  messages: new Map(),
  calmSince: new Map(),
  stopUntil: new Map(),
  told: new Set(),
  support: undefined,
  evicted: undefined,
  volumesMade: false,
  artifactsMade: false,
  lacking: undefined,
  settled: false,
  behindSince: undefined,
});
