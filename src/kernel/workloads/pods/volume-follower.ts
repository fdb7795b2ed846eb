import { type Cancel, type Clock, jsonEquals, type Logger, messageOf, type Millis } from "#lib/base/index.ts";
import type { Informer, InformerFactory, InformerShare } from "#kernel/kit/index.ts";
import { asJson, ConfigMap, type KubeObject, keyOf, Secret, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { type SourceName, sourceKey, volumeSourcesOf } from "./config-sources.ts";
import { isFollowed, tellsOfPod } from "./volumes.ts";

/** Collects changes that come together. */
const pause: Millis = 1_000;
const retryAfter: Millis = 60_000;

export interface VolumeFollowerOptions {
  readonly informers: InformerFactory;
  readonly pods: Informer<PodObject>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Rewrites changed files; returns what prevents it. */
  readonly refresh: (pod: Stored<PodObject>) => Promise<readonly string[]>;
  readonly tell: (pod: Stored<PodObject>, problems: readonly string[]) => void;
}

interface Followed {
  readonly key: string;
  readonly uid: string;
  readonly tellsOfPod: boolean;
  /** Cancels the pending refresh; the first one also opens the watches. */
  cancel?: Cancel;
  /** A refresh is due soon: another change needs no other. */
  isDue: boolean;
  sources?: readonly string[];
}

/** A ConfigMap or Secret with the uids of the pods that show it; an immutable one is not watched. */
interface Source {
  readonly users: Set<string>;
  stop?: () => void;
}

/**
 * Keeps the files of volumes in step with their ConfigMaps and Secrets, and with the pod's own labels and annotations.
 * Like the kubelet, it watches single objects, each once. A change refreshes the pods that show the object one second
 * later, one after the other.
 */
export class VolumeFollower {
  readonly #options: VolumeFollowerOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #sources = new Map<string, Source>();
  readonly #removeHandler: () => void;
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: VolumeFollowerOptions) {
    this.#options = options;
    this.#removeHandler = options.pods.addHandler({
      update: (old, { metadata }) => {
        const followed = this.#followed.get(metadata.uid);
        if (followed === undefined || !followed.tellsOfPod) return;
        const { labels, annotations } = old.metadata;
        if (jsonEquals({ labels, annotations }, { labels: metadata.labels, annotations: metadata.annotations })) return;
        this.#changed(followed);
      },
    });
  }

  /** Refreshes once in any case, because the sources may have changed since the volumes were made. May be repeated. */
  follow({ metadata, spec }: Stored<PodObject>): void {
    const volumes = (spec.volumes ?? []).filter(isFollowed);
    if (this.#isClosed || volumes.length === 0 || this.#followed.has(metadata.uid)) return;
    const { uid } = metadata;
    const followed = { key: keyOf(metadata), uid, tellsOfPod: volumes.some(tellsOfPod), isDue: false };
    this.#followed.set(uid, followed);
    this.#changed(followed);
  }

  forget(uid: string): void {
    const followed = this.#followed.get(uid);
    followed?.cancel?.();
    this.#followed.delete(uid);
    for (const key of followed?.sources ?? []) {
      const source = this.#sources.get(key);
      source?.users.delete(uid);
      if (source?.users.size !== 0) continue;
      source.stop?.();
      this.#sources.delete(key);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#removeHandler();
    for (const uid of this.#followed.keys()) this.forget(uid);
  }

  #changed(followed: Followed): void {
    if (followed.isDue) return;
    followed.isDue = true;
    this.#arrange(followed, pause);
  }

  #arrange(followed: Followed, delay: Millis): void {
    followed.cancel?.();
    followed.cancel = this.#options.clock.after(delay, () => {
      followed.isDue = true;
      this.#work = this.#work.then(() => this.#refresh(followed));
    });
  }

  /** Never rejects. */
  async #refresh(followed: Followed): Promise<void> {
    const pod = this.#options.pods.get(followed.key);
    if (this.#followed.get(followed.uid) !== followed || pod?.metadata.uid !== followed.uid) return;
    followed.isDue = false;
    try {
      if (followed.sources === undefined) this.#watchSources(pod, followed);
      const problems = await this.#options.refresh(pod);
      if (problems.length > 0) this.#options.tell(pod, problems);
    } catch (thrown) {
      if (this.#followed.get(followed.uid) !== followed) return;
      const fields = { pod: followed.key, error: messageOf(thrown) };
      this.#options.log.warn("volumes of a pod cannot be refreshed", fields);
      if (!followed.isDue) this.#arrange(followed, retryAfter);
    }
  }

  #watchSources({ metadata: { namespace = "" }, spec }: Stored<PodObject>, followed: Followed): void {
    const named = volumeSourcesOf(spec.volumes).map((name) => [`${namespace}/${sourceKey(name)}`, name] as const);
    const byKey = new Map(named);
    followed.sources = [...byKey.keys()];
    for (const [key, name] of byKey) {
      const known = this.#sources.get(key);
      if (known === undefined) this.#watch(key, namespace, name, followed.uid);
      else known.users.add(followed.uid);
    }
  }

  #watch(key: string, namespace: string, { kind, name }: SourceName, uid: string): void {
    const source: Source = { users: new Set([uid]) };
    this.#sources.set(key, source);
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    const share: InformerShare = this.#options.informers.acquire(kind === "Secret" ? Secret : ConfigMap, scope);
    const told = (object: KubeObject) => {
      this.#tellUsers(source);
      if (asJson(object)["immutable"] === true) source.stop?.();
    };
    // Includes the present object, which may have changed between reading and watching it.
    const remove = share.informer.addHandler({ add: told, update: (_old, object) => told(object), delete: told });
    source.stop = () => {
      remove();
      share.release();
      delete source.stop;
    };
  }

  #tellUsers({ users }: Source): void {
    for (const uid of users) {
      const followed = this.#followed.get(uid);
      if (followed !== undefined) this.#changed(followed);
    }
  }
}
