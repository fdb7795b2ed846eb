import type { Registry } from "prom-client";
import type { Millis } from "#lib/base/index.ts";
import type { InFlight } from "./in-flight.ts";
import type { WatchMeter } from "./watch-reply.ts";

/** Labels of a finished request. Values come from bounded sets: unknown resources are `other`. */
export interface RequestLabels {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly code: string;
}

/** What metrics are read from. */
export interface MetricSources {
  readonly inFlight: InFlight;
  readonly watchMeter: WatchMeter;
  readonly revision: () => number;
  readonly compactedRevision: () => number;
  readonly objects: () => number;
  readonly version: string;
}

/** Notes how long one request took. */
export type ObserveDuration = (labels: Pick<RequestLabels, "verb" | "resource">, seconds: number) => void;

// Distinct label sets kept; later ones are counted under `other`.
const maxSeries = 2000;

/** How often requests with these labels were answered. */
export interface Series {
  readonly labels: RequestLabels;
  count: number;
}

/**
 * Counts requests from the start. The library that formats metrics is loaded when they are first asked for, and durations are
 * observed from then on.
 */
export class RequestMetrics {
  readonly #sources: MetricSources;
  readonly #series = new Map<string, Series>();
  #observe: ObserveDuration | undefined;
  #registry: Promise<Registry> | undefined;

  constructor(sources: MetricSources) {
    this.#sources = sources;
  }

  record(labels: RequestLabels, duration: Millis): void {
    this.#observe?.({ verb: labels.verb, resource: labels.resource }, duration / 1000);
    const key = `${labels.verb}|${labels.resource}|${labels.subresource}|${labels.code}`;
    const known = this.#series.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#series.size < maxSeries) this.#series.set(key, { labels, count: 1 });
  }

  /** The Prometheus text. */
  async render(): Promise<string> {
    this.#registry ??= this.#load();
    return (await this.#registry).metrics();
  }

  async #load(): Promise<Registry> {
    const { makeRegistry } = await import("./metric-registry.ts");
    const { registry, observe } = makeRegistry(this.#sources, () => this.#series.values());
    this.#observe = observe;
    return registry;
  }
}
