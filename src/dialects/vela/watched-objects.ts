import type { InformerShare, Manager } from "#kernel/kit/index.ts";
import { apiVersionOf, keyOf, type ResourceType, type Stored } from "#kernel/model/index.ts";
import type { TrackedObject } from "./delivery/tracker.ts";

interface Watched {
  readonly share: InformerShare;
  readonly users: Set<string>;
  readonly stop: () => void;
}

/**
 * Watches the kinds of objects that applications have applied on the control plane's own cluster. Objects elsewhere are
 * looked at from time to time. A kind is watched while an application follows an object of it.
 */
export class WatchedObjects {
  readonly #manager: Manager;
  readonly #wake: (user: string) => void;
  readonly #watched = new Map<string, Watched>();
  /** Users by object, and objects by user. */
  readonly #users = new Map<string, Set<string>>();
  readonly #objects = new Map<string, ReadonlySet<string>>();

  constructor(manager: Manager, wake: (user: string) => void) {
    this.#manager = manager;
    this.#wake = wake;
  }

  /** Replaces what the user follows. Unknown kinds are left out until the next call. */
  async follow(user: string, objects: readonly TrackedObject[]): Promise<void> {
    const ids = new Set<string>();
    const kinds = new Set<string>();
    for (const object of objects.filter(({ cluster }) => cluster === "local")) {
      const type = await this.#manager.client.resourceType(object.apiVersion, object.kind);
      if (type === undefined) continue;
      const kind = this.#acquire(type, user);
      kinds.add(kind);
      ids.add(`${kind}/${keyOf(object)}`);
    }
    this.#setObjects(user, ids);
    for (const kind of this.#watched.keys()) if (!kinds.has(kind)) this.#release(kind, user);
  }

  forget(user: string): void {
    this.#setObjects(user, new Set());
    for (const kind of this.#watched.keys()) this.#release(kind, user);
  }

  close(): void {
    for (const { stop } of this.#watched.values()) stop();
    this.#watched.clear();
  }

  #setObjects(user: string, ids: ReadonlySet<string>): void {
    for (const id of this.#objects.get(user) ?? []) {
      if (ids.has(id)) continue;
      const users = this.#users.get(id);
      users?.delete(user);
      if (users?.size === 0) this.#users.delete(id);
    }
    for (const id of ids) {
      const users = this.#users.get(id) ?? new Set();
      this.#users.set(id, users.add(user));
    }
    if (ids.size === 0) this.#objects.delete(user);
    else this.#objects.set(user, ids);
  }

  #acquire(type: ResourceType, user: string): string {
    const kind = `${apiVersionOf(type)}/${type.kind}`;
    const watched = this.#watched.get(kind) ?? this.#watch(kind, type);
    watched.users.add(user);
    return kind;
  }

  #release(kind: string, user: string): void {
    const watched = this.#watched.get(kind);
    if (watched === undefined || !watched.users.delete(user) || watched.users.size > 0) return;
    watched.stop();
    this.#watched.delete(kind);
  }

  #watch(kind: string, type: ResourceType): Watched {
    const share = this.#manager.informers.acquire(type);
    const tell = ({ metadata }: Stored): void => {
      for (const user of this.#users.get(`${kind}/${keyOf(metadata)}`) ?? []) this.#wake(user);
    };
    // What the mirror begins with is what the pass has seen.
    const remove = share.informer.addHandler({
      add: (object, { isInitial }) => void (isInitial || tell(object)),
      update: (old, object) => void (old.metadata.resourceVersion === object.metadata.resourceVersion || tell(object)),
      delete: tell,
    });
    const stop = (): void => {
      remove();
      share.release();
    };
    const watched: Watched = { share, users: new Set(), stop };
    this.#watched.set(kind, watched);
    return watched;
  }
}
