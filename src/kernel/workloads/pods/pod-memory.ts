import { getOrAdd, type Instant } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import type { Lacking } from "./pod-artifacts.ts";
import { podPaths } from "./pod-paths.ts";
import type { Support } from "./support.ts";

/** Lost on a restart: without `calmSince` the next start may wait longer, without `told` an event may repeat. */
export interface PodMemory {
  readonly acceptedAt: Instant;
  /** The pod may be gone when it is needed. */
  readonly logs: string;
  readonly messages: Map<string, string>;
  readonly calmSince: Map<string, number>;
  /** By task: when the shortest grace so far is over. */
  readonly stopUntil: Map<string, Instant>;
  readonly told: Set<string>;
  support: Support | undefined;
  /** Final: a pod that has failed does not come back. */
  evicted: string | undefined;
  volumesMade: boolean;
  artifactsMade: boolean;
  lacking: Lacking | undefined;
  settled: boolean;
  behindSince: Instant | undefined;
}

/** By key and uid: a name may have had several pods. */
export class PodMemories {
  readonly #directory: string;
  readonly #byKey = new Map<string, Map<string, PodMemory>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  of(key: string, pod: Stored<PodObject>, now: Instant): PodMemory {
    const { uid } = pod.metadata;
    const byUid = getOrAdd(this.#byKey, key, () => new Map<string, PodMemory>());
    return getOrAdd(byUid, uid, () => fresh(podPaths(this.#directory, pod).logs, now));
  }

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
