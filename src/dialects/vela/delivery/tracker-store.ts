import { type InTurn, serializer } from "#lib/base/index.ts";
import type { ApiClient } from "#kernel/kit/index.ts";
import { isNotFound } from "#kernel/model/index.ts";
import type { AppIdentity } from "../app.ts";
import { ResourceTracker } from "../kinds.ts";
import { selectorOf } from "../labels.ts";
import {
  decodeTracker,
  encodeTracker,
  type TrackedObject,
  type Tracker,
  trackerName,
  type TrackerType,
  withTracked,
} from "./tracker.ts";

/** The trackers of one application during one pass. Writes are one at a time and start from the last one's result. */
export class TrackerStore {
  readonly #client: ApiClient;
  readonly #identity: AppIdentity;
  readonly #signal: AbortSignal;
  readonly #inTurn: InTurn = serializer();
  #trackers: Promise<Map<string, Tracker>> | undefined;

  /** The controller's own client: people have no rights on trackers. */
  constructor(client: ApiClient, identity: AppIdentity, signal: AbortSignal) {
    this.#client = client;
    this.#identity = identity;
    this.#signal = signal;
  }

  /** All trackers of the application, by name. */
  async all(): Promise<readonly Tracker[]> {
    return [...(await this.#read()).values()];
  }

  /** Those whose objects the present revision wants. */
  async current(): Promise<readonly Tracker[]> {
    const names = (["root", "versioned"] as const).map((type) => trackerName(this.#identity, type));
    return (await this.all()).filter(({ name }) => names.includes(name));
  }

  /** Durable before it resolves. One write for all objects of a type, none if they are tracked like this already. */
  track(type: TrackerType, objects: readonly TrackedObject[]): Promise<void> {
    return this.#inTurn(async () => {
      const trackers = await this.#read();
      const name = trackerName(this.#identity, type);
      const next = withTracked(trackers.get(name) ?? { name, type, objects: [] }, objects);
      if (next !== undefined) trackers.set(name, await this.#write(next));
    });
  }

  /** Stores what is left of a tracker. */
  replace(tracker: Tracker): Promise<void> {
    return this.#inTurn(async () => {
      (await this.#read()).set(tracker.name, await this.#write(tracker));
    });
  }

  /** Deletes a tracker whose objects are gone or left behind on purpose. */
  drop({ name, stored }: Tracker): Promise<void> {
    return this.#inTurn(async () => {
      const ref = { type: ResourceTracker, name };
      try {
        if (stored !== undefined)
          await this.#client.patch(ref, { type: "merge", body: { metadata: { finalizers: null } } }, this.#options);
        await this.#client.delete(ref, this.#options);
      } catch (thrown) {
        if (!isNotFound(thrown)) throw thrown;
      }
      (await this.#read()).delete(name);
    });
  }

  get #options() {
    return { signal: this.#signal };
  }

  async #write(tracker: Tracker): Promise<Tracker> {
    const object = encodeTracker(tracker, this.#identity);
    const stored =
      tracker.stored === undefined
        ? await this.#client.create(ResourceTracker, object, this.#options)
        : await this.#client.update(ResourceTracker, object, this.#options);
    return { ...tracker, stored };
  }

  #read(): Promise<Map<string, Tracker>> {
    this.#trackers ??= this.#list();
    this.#trackers.catch(() => (this.#trackers = undefined));
    return this.#trackers;
  }

  async #list(): Promise<Map<string, Tracker>> {
    const { items } = await this.#client.list(ResourceTracker, {
      labelSelector: selectorOf(this.#identity),
      ...this.#options,
    });
    return new Map(items.map((item) => [item.metadata.name, decodeTracker(item)]));
  }
}
