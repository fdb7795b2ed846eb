// Loaded when metrics are first asked for: few ask, and the library is not free.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Distribution, Labels, MetricFamily } from "#kernel/kit/index.ts";

/**
 * Families in the text format of Prometheus 0.0.4. The registry is made anew each time: nothing is kept that could differ from what
 * was counted. Label values are escaped by the library.
 */
export function renderMetrics(families: readonly MetricFamily[]): Promise<string> {
  const registry = new Registry();
  for (const family of families) register(registry, family);
  return registry.metrics();
}

/** A family without samples is written all the same: a dashboard shows zero instead of nothing. */
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

/** A histogram whose observations were counted elsewhere. */
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

  /** What a registry asks a histogram for; the name is the library's. */
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
