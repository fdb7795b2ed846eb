// Metrics as plain data, read on demand (`/metrics` of the API server). Names are `slipway_<part>_<noun>_<unit>`; label
// values come from small sets, never from names of objects.

/** All samples of a family have the same label names. */
export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export interface Distribution {
  readonly labels: Labels;
  /** Cumulative and ascending; the last `upTo` is Infinity. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
  readonly sum: number;
}

/** All samples of one name. The name of a counter ends in `_total`. */
export type MetricFamily = { readonly name: string; readonly help: string } & (
  | { readonly type: "counter" | "gauge"; readonly samples: readonly Sample[] }
  | { readonly type: "histogram"; readonly distributions: readonly Distribution[] }
);

export interface CounterSeries {
  add(count?: number): void;
}

export interface HistogramSeries {
  observe(value: number): void;
}

export interface FamilyOf<S> {
  series(labels?: Labels): S;
}

/** From a millisecond to two minutes. */
export const durationBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
];

/** Further label sets are counted together as `other`. */
const maxSeries = 1000;

/** Families are made once; a second one of the same name throws. */
export class Metrics {
  readonly #families = new Map<string, () => MetricFamily>();

  counter(name: string, help: string): FamilyOf<CounterSeries> {
    const family = new SeriesByLabels(() => new Count());
    this.#add(name, () => ({
      name,
      help,
      type: "counter",
      samples: family.all().map(([labels, { value }]) => ({ labels, value })),
    }));
    return family;
  }

  /** `buckets` are ascending upper bounds; an infinite one is added. */
  histogram(name: string, help: string, buckets: readonly number[] = durationBuckets): FamilyOf<HistogramSeries> {
    const bounds = [...buckets, Number.POSITIVE_INFINITY];
    const family = new SeriesByLabels(() => new Spread(bounds));
    this.#add(name, () => ({
      name,
      help,
      type: "histogram",
      distributions: family.all().map(([labels, spread]) => spread.distribution(labels)),
    }));
    return family;
  }

  /** `read` is called on demand, and must be fast. */
  gauge(name: string, help: string, read: () => number | readonly Sample[]): void {
    this.#add(name, () => ({ name, help, type: "gauge", samples: samplesOf(read()) }));
  }

  readCounter(name: string, help: string, read: () => number | readonly Sample[]): void {
    this.#add(name, () => ({ name, help, type: "counter", samples: samplesOf(read()) }));
  }

  readHistogram(name: string, help: string, read: () => readonly Distribution[]): void {
    this.#add(name, () => ({ name, help, type: "histogram", distributions: read() }));
  }

  /** All families by name, without those whose reading throws. */
  collect(): readonly MetricFamily[] {
    const names = [...this.#families.keys()].sort();
    return names.flatMap((name) => {
      try {
        return this.#families.get(name)?.() ?? [];
      } catch {
        // Such as a gauge that reads a missing file.
        return [];
      }
    });
  }

  #add(name: string, read: () => MetricFamily): void {
    // gRPC servers have well-known names.
    if (!/^(?:slipway|grpc_server)_[a-z0-9_]+$/.test(name)) throw new Error(`${name} is no name of a metric`);
    if (this.#families.has(name)) throw new Error(`there is a metric ${name} already`);
    this.#families.set(name, read);
  }
}

const samplesOf = (read: number | readonly Sample[]): readonly Sample[] =>
  typeof read === "number" ? [{ labels: {}, value: read }] : read;

class Count implements CounterSeries {
  value = 0;

  add(count = 1): void {
    this.value += count;
  }
}

class Spread implements HistogramSeries {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at < 0) return;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  distribution(labels: Labels): Distribution {
    let count = 0;
    const buckets = this.#bounds.map((upTo, index) => ({ upTo, count: (count += this.#counts[index] ?? 0) }));
    return { labels, buckets, sum: this.#sum };
  }
}

class SeriesByLabels<S> implements FamilyOf<S> {
  readonly #make: () => S;
  readonly #byKey = new Map<string, readonly [Labels, S]>();

  constructor(make: () => S) {
    this.#make = make;
  }

  /** The label names of a family come in one order, so that values tell series apart. */
  series(labels: Labels = {}): S {
    const key = Object.values(labels).join("\0");
    const known = this.#byKey.get(key);
    if (known !== undefined) return known[1];
    if (this.#byKey.size >= maxSeries) {
      const others = Object.fromEntries(Object.keys(labels).map((name) => [name, "other"]));
      const rest = Object.values(others).join("\0");
      return (this.#byKey.get(rest) ?? this.#set(rest, others))[1];
    }
    return this.#set(key, labels)[1];
  }

  all(): readonly (readonly [Labels, S])[] {
    return [...this.#byKey.values()];
  }

  #set(key: string, labels: Labels): readonly [Labels, S] {
    const made = [labels, this.#make()] as const;
    this.#byKey.set(key, made);
    return made;
  }
}
