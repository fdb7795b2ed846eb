import type { Informer, InformerFactory, InformerShare } from "#kernel/kit/index.ts";
import { isJsonObject } from "#lib/base/index.ts";
import { asJson, type KubeObject, Service, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { clusterDomain, sandboxOf } from "./container-setup.ts";

// Services without a data plane: a ready pod has the names of the Services that select it, so that a lookup gives the
// addresses of the pods. A Service has no address of its own and maps no ports.

export function serviceNames({ metadata }: KubeObject): readonly string[] {
  const base = `${metadata.name}.${metadata.namespace}`;
  return [base, `${base}.svc`, `${base}.svc.${clusterDomain}`];
}

export function selects(service: KubeObject, pod: PodObject): boolean {
  const spec = asJson(service)["spec"];
  const selector = isJsonObject(spec) ? spec["selector"] : undefined;
  if (!isJsonObject(selector) || Object.keys(selector).length === 0) return false;
  if (service.metadata.namespace !== pod.metadata.namespace) return false;
  return Object.entries(selector).every(([name, value]) => pod.metadata.labels?.[name] === value);
}

export const isReady = (pod: PodObject): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  (pod.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True");

function wantsAll(service: KubeObject): boolean {
  const spec = asJson(service)["spec"];
  return isJsonObject(spec) && spec["publishNotReadyAddresses"] === true;
}

/** A pod without readiness probes is ready as soon as it runs: it gets its names at once. */
const isReadyOnceItRuns = ({ spec }: PodObject): boolean =>
  spec.containers.every(
    ({ readinessProbe, startupProbe, lifecycle }) => !readinessProbe && !startupProbe && !lifecycle?.postStart,
  );

/** Keeps the names of pods in step with Services. A change of either costs a walk over its namespace's others. */
export class ServiceNames {
  readonly #informers: InformerFactory;
  readonly #pods: Informer<PodObject>;
  readonly #rename: (uid: string, names: readonly string[]) => void;
  readonly #given = new Map<string, string>();
  #services: InformerShare | undefined;
  #cancels: readonly (() => void)[] = [];

  constructor(
    informers: InformerFactory,
    pods: Informer<PodObject>,
    rename: (uid: string, names: readonly string[]) => void,
  ) {
    this.#informers = informers;
    this.#pods = pods;
    this.#rename = rename;
  }

  start(): Promise<void> {
    const services = this.#informers.acquire(Service);
    this.#services = services;
    const all = (service: KubeObject) => {
      for (const pod of this.#pods.list()) {
        if (pod.metadata.namespace === service.metadata.namespace) this.#consider(pod);
      }
    };
    this.#cancels = [
      services.informer.addHandler({ add: all, update: (_old, service) => all(service), delete: all }),
      this.#pods.addHandler({
        add: (pod) => this.#consider(pod),
        update: (_old, pod) => this.#consider(pod),
        delete: (pod) => void this.#given.delete(pod.metadata.uid),
      }),
    ];
    return Promise.resolve();
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    this.#services?.release();
  }

  /** Names for a pod whose sandbox is about to be opened. */
  readonly of = (pod: PodObject): readonly string[] => {
    const ready = isReady(pod) || isReadyOnceItRuns(pod);
    return (this.#services?.informer.list() ?? [])
      .filter((service) => (ready || wantsAll(service)) && selects(service, pod))
      .flatMap(serviceNames)
      .sort();
  };

  /** A pod gets its first names with its sandbox. */
  #consider(pod: Stored<PodObject>): void {
    const { uid } = pod.metadata;
    if (pod.status?.podIP === undefined || pod.spec.hostNetwork === true) return;
    const names = sandboxOf(pod, this.of(pod)).names;
    const text = names.join(" ");
    if (this.#given.get(uid) === text) return;
    this.#given.set(uid, text);
    this.#rename(uid, names);
  }
}
