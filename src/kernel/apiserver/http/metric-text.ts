// Loaded on the first request for metrics.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Distribution, Labels, MetricFamily } from "#kernel/kit/index.ts";

/** Prometheus' text format 0.0.4. The registry is made anew each time, so it always has the current counts. */
export function renderMetrics(families: readonly MetricFamily[]): Promise<string> {
  const registry = new Registry();
  for (const family of families) register(registry, family);
  return registry.metrics();
}

/** A family without samples is printed as well: dashboards show zero instead of nothing. */
function register(registry: Registry, family: MetricFamily): void {
  const { name, help, type } = family;
  switch (type) {
    case "counter": {
      const counter = new Counter({ name, help, labelNames: namesOf(family.samples), registers: [registry] });
      for (const { labels, value } of family.samples) counter.inc(labels, value);
      return;
    }
    case "gauge": {
      const gauge = new Gauge({ name, help, labelNames: namesOf(family.samples), registers: [registry] });
      for (const { labels, value } of family.samples) gauge.set(labels, value);
      return;
    }
    case "histogram":
      return registry.registerMetric(new CountedHistogram(name, help, family.distributions));
  }
}

const namesOf = ([first]: readonly { readonly labels: Labels }[]): string[] => Object.keys(first?.labels ?? {});

class CountedHistogram extends Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #distributions: readonly Distribution[];

  constructor(name: string, help: string, distributions: readonly Distribution[]) {
    super({ name, help, registers: [] });
    this.#name = name;
    this.#help = help;
    this.#distributions = distributions;
  }

  getForPromString() {
    return {
      name: this.#name,
      help: this.#help,
      type: "histogram",
      values: this.#distributions.flatMap((spread) => this.#valuesOf(spread)),
    };
  }

  #valuesOf({ labels, buckets, sum }: Distribution) {
    const named = (suffix: string, value: number, more: Labels = {}) => ({
      metricName: `${this.#name}_${suffix}`,
      labels: { ...labels, ...more },
      value,
    });
    return [
      ...buckets.map(({ upTo, count }) => named("bucket", count, { le: upTo === Infinity ? "+Inf" : String(upTo) })),
      named("sum", sum),
      named("count", buckets.at(-1)?.count ?? 0),
    ];
  }
}
