import { apiVersionOf, keyOf, type ObjectMeta, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { Informer } from "./informer.ts";
import type { InformerFactory, InformerShare } from "./informer-factory.ts";

/** A change of a mirrored object, and the users that refer to it. */
export interface MirroredChange {
  readonly object: Stored;
  readonly users: readonly string[];
  /** The mirror began with it. */
  readonly isInitial: boolean;
  /** Of an update. */
  readonly old?: Stored;
}

export interface KindMirrorsOptions {
  readonly informers: Pick<InformerFactory, "acquire">;
  /** Called with each new mirror, before it is filled. */
  readonly prepare?: (informer: Informer) => void;
  readonly changed: (change: MirroredChange) => void;
}

interface Mirror {
  readonly share: InformerShare;
  readonly users: Set<string>;
  readonly stop: () => void;
}

const idOf = (type: ResourceType): string => `${apiVersionOf(type)}/${type.kind}`;

/**
 * Mirrors of kinds that only some users need. A mirror starts with its first user and stops with its last one.
 * Invariant: `#references` is the inverse of `#referrers`, and neither has empty sets.
 */
export class KindMirrors {
  readonly #options: KindMirrorsOptions;
  readonly #mirrors = new Map<string, Mirror>();
  /** Users by object. */
  readonly #referrers = new Map<string, Set<string>>();
  readonly #references = new Map<string, Set<string>>();

  constructor(options: KindMirrorsOptions) {
    this.#options = options;
  }

  /** Idempotent. `isNew`: the user did not have it. */
  acquire(type: ResourceType, user: string): { readonly informer: Informer; readonly isNew: boolean } {
    const id = idOf(type);
    const { share, users } = this.#mirrors.get(id) ?? this.#start(id, type);
    const isNew = !users.has(user);
    users.add(user);
    return { informer: share.informer, isNew };
  }

  /** Changes of the object are the user's, too. The kind must be acquired for it. */
  refer(type: ResourceType, objectKey: string, user: string): void {
    const id = `${idOf(type)}/${objectKey}`;
    addTo(this.#referrers, id, user);
    addTo(this.#references, user, id);
  }

  /** Acquires the kinds of these objects and refers to them, and to nothing else from now on. */
  follow(user: string, objects: readonly { readonly type: ResourceType; readonly metadata: ObjectMeta }[]): void {
    for (const { type } of objects) this.acquire(type, user);
    this.#unrefer(user);
    for (const { type, metadata } of objects) this.refer(type, keyOf(metadata), user);
    const kinds = new Set(objects.map(({ type }) => idOf(type)));
    for (const id of this.#mirrors.keys()) if (!kinds.has(id)) this.#release(id, user);
  }

  /** Releases everything that was acquired for a user. */
  forget(user: string): void {
    this.follow(user, []);
  }

  get informers(): readonly Informer[] {
    return [...this.#mirrors.values()].map(({ share }) => share.informer);
  }

  close(): void {
    for (const { stop } of this.#mirrors.values()) stop();
    this.#mirrors.clear();
  }

  #unrefer(user: string): void {
    for (const id of this.#references.get(user) ?? []) removeFrom(this.#referrers, id, user);
    this.#references.delete(user);
  }

  #release(id: string, user: string): void {
    const mirror = this.#mirrors.get(id);
    if (mirror === undefined || !mirror.users.delete(user) || mirror.users.size > 0) return;
    mirror.stop();
    this.#mirrors.delete(id);
  }

  #start(id: string, type: ResourceType): Mirror {
    const { informers, prepare, changed } = this.#options;
    const share = informers.acquire(type);
    prepare?.(share.informer);
    const tell = (object: Stored, more: Pick<MirroredChange, "old"> = {}, isInitial = false): void =>
      changed({
        object,
        users: [...(this.#referrers.get(`${id}/${keyOf(object.metadata)}`) ?? [])],
        isInitial,
        ...more,
      });
    const remove = share.informer.addHandler({
      add: (object, { isInitial }) => tell(object, {}, isInitial),
      update: (old, object) => tell(object, { old }),
      delete: (object) => tell(object),
    });
    const stop = (): void => {
      remove();
      share.release();
    };
    const mirror: Mirror = { share, users: new Set(), stop };
    this.#mirrors.set(id, mirror);
    return mirror;
  }
}

/** Removes empty sets, so that the maps do not grow. */
function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, new Set([value]));
  else values.add(value);
}

function removeFrom(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key);
  values?.delete(value);
  if (values?.size === 0) map.delete(key);
}
