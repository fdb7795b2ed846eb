import { type Cancel, type Clock, err, getOrAdd, type Instant, messageOf, ok, type Result } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { Secret, type Stored } from "#kernel/model/index.ts";
import { type ContainerHost, type ImageFacts, loginsFor, type RegistryLogin } from "#kernel/runtimes/index.ts";
import type { Container, PodObject, PodSpec } from "../pod-types.ts";
import { contentsOf } from "./config-sources.ts";
import { backoffDelay, type Waiting } from "./plan-pod.ts";
import type { PodNotes } from "./pod-notes.ts";

// Images of containers that are about to start. Pulling takes minutes and must not hold up a pass over a pod: it runs
// beside, and the pod is looked at again when it is over.
//
//   policy          image is here        image is not here
//   Never           run                  wait (ErrImageNeverPull), look again
//   IfNotPresent    run                  pull
//   Always          pull                 pull
//
// A pull that fails is tried again after 10 s, 20 s, … 5 min, for ever. What the first second after it is called
// ErrImagePull is called ImagePullBackOff from then on, as people know it from Kubernetes.

export interface ImageKeeperOptions {
  readonly host: ContainerHost;
  readonly client: ApiClient;
  readonly notes: PodNotes;
  readonly clock: Clock;
  readonly wake: (pod: Stored<PodObject>) => void;
}

interface Entry {
  /** The execution `facts` were found for: with policy Always a restart pulls again. */
  task?: string;
  facts?: ImageFacts;
  isPulling: boolean;
  failures: number;
  failure?: { readonly message: string; readonly at: Instant; readonly retryAt: Instant };
}

const freshFailureMs = 1_000;

/** Images of the containers of one node's pods, until the pod is forgotten. */
export class ImageKeeper {
  readonly #options: ImageKeeperOptions;
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #timers = new Set<Cancel>();
  readonly #closed = new AbortController();

  constructor(options: ImageKeeperOptions) {
    this.#options = options;
  }

  /** The image for one execution, or why it is missing. Does not wait for a pull. */
  async find(pod: Stored<PodObject>, container: Container, task: string): Promise<Result<ImageFacts, Waiting>> {
    const entry = this.#entryOf(pod.metadata.uid, container.name);
    if (entry.task === task && entry.facts !== undefined) return ok(entry.facts);
    if (entry.isPulling) return err({ reason: "ContainerCreating" });
    const { clock, host, notes } = this.#options;
    const { image = "" } = container;
    const { failure } = entry;
    if (failure !== undefined && clock.now() < failure.retryAt) return err(waitingFor(image, failure, clock.now()));
    const policy = container.imagePullPolicy ?? defaultPolicy(image);
    if (policy !== "Always") {
      const facts = await host.findImage(image);
      if (facts !== undefined) {
        notes.imagePresent(pod, image);
        Object.assign(entry, { task, facts });
        return ok(facts);
      }
      if (policy === "Never") {
        const message = `Container image "${image}" is not present with pull policy of Never`;
        return err({ reason: "ErrImageNeverPull", message });
      }
    }
    entry.isPulling = true;
    void this.#pull(pod, image, task, entry);
    return err({ reason: "ContainerCreating" });
  }

  digestOf(uid: string, container: string): string | undefined {
    return this.#entries.get(uid)?.get(container)?.facts?.digest;
  }

  /** A pull in progress continues for others. */
  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  close(): void {
    this.#closed.abort(new Error("the pod runner stops"));
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  async #pull(pod: Stored<PodObject>, image: string, task: string, entry: Entry): Promise<void> {
    const { host, notes, clock } = this.#options;
    const { signal } = this.#closed;
    const begun = clock.monotonic();
    notes.pulling(pod, image);
    try {
      const facts = await host.pull(image, await this.#logins(pod, image), signal);
      delete entry.failure;
      Object.assign(entry, { task, facts, failures: 0 });
      notes.pulled(pod, image, clock.monotonic() - begun);
    } catch (thrown) {
      if (signal.aborted) return;
      entry.failures++;
      const at = clock.now();
      entry.failure = { message: messageOf(thrown), at, retryAt: at + backoffDelay(entry.failures + 1) };
      this.#wakeAfter(pod, freshFailureMs);
      this.#wakeAfter(pod, entry.failure.retryAt - at);
    } finally {
      entry.isPulling = false;
    }
    this.#options.wake(pod);
  }

  #wakeAfter(pod: Stored<PodObject>, delay: number): void {
    const cancel = this.#options.clock.after(delay, () => {
      this.#timers.delete(cancel);
      this.#options.wake(pod);
    });
    this.#timers.add(cancel);
  }

  /** Missing Secrets are skipped: the pull may not need them. */
  async #logins(pod: Stored<PodObject>, image: string): Promise<readonly RegistryLogin[]> {
    const { client } = this.#options;
    const { namespace = "" } = pod.metadata;
    const names = new Set(namesIn(pod.spec.imagePullSecrets));
    const secrets = await Promise.all(
      [...names].map((name) => getOrUndefined(client, { type: Secret, namespace, name })),
    );
    return loginsFor(
      image,
      secrets.flatMap((secret) => (secret === undefined ? [] : [contentsOf(secret)])),
    );
  }

  #entryOf(uid: string, container: string): Entry {
    const ofPod = getOrAdd(this.#entries, uid, () => new Map<string, Entry>());
    return getOrAdd(ofPod, container, () => ({ isPulling: false, failures: 0 }));
  }
}

const waitingFor = (image: string, { message, at }: NonNullable<Entry["failure"]>, now: Instant): Waiting =>
  now < at + freshFailureMs
    ? { reason: "ErrImagePull", message }
    : { reason: "ImagePullBackOff", message: `Back-off pulling image "${image}": ${message}` };

/** The API server's default. */
const defaultPolicy = (image: string): string =>
  /(?:^|\/)[^/:@]+(?::latest)?$/.test(image) ? "Always" : "IfNotPresent";

const namesIn = (references: PodSpec["imagePullSecrets"]): readonly string[] =>
  (references ?? []).flatMap(({ name }) => (name === undefined || name === "" ? [] : [name]));
