import { KindMirrors, type Manager } from "#kernel/kit/index.ts";
import type { TrackedObject } from "./delivery/tracker.ts";

/**
 * Watches the kinds of objects that applications have applied on the control plane's own cluster. Objects elsewhere are
 * looked at from time to time. A kind is watched while an application follows an object of it.
 */
export class WatchedObjects {
  readonly #manager: Manager;
  readonly #mirrors: KindMirrors;

  constructor(manager: Manager, wake: (user: string) => void) {
    this.#manager = manager;
    this.#mirrors = new KindMirrors({
      informers: manager.informers,
      changed({ object, users, isInitial, old }) {
        // What the mirror begins with is what the pass has seen.
        if (!isInitial && old?.metadata.resourceVersion !== object.metadata.resourceVersion) users.forEach(wake);
      },
    });
  }

  /** Replaces what the user follows. Unknown kinds are left out until the next call. */
  async follow(user: string, objects: readonly TrackedObject[]): Promise<void> {
    const here = objects.filter(({ cluster }) => cluster === "local");
    const found = await Promise.all(
      here.map(async ({ apiVersion, kind, ...metadata }) => {
        const type = await this.#manager.client.resourceType(apiVersion, kind);
        return type === undefined ? [] : [{ type, metadata }];
      }),
    );
    this.#mirrors.follow(user, found.flat());
  }

  forget(user: string): void {
    this.#mirrors.forget(user);
  }

  close(): void {
    this.#mirrors.close();
  }
}
