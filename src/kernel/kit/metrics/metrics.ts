// What a process counts of itself, as plain data: whoever counts needs no library, and whoever serves the numbers (`/metrics` of the
// API server) asks for them when somebody looks. Names are `slipway_<part>_<noun>_<unit>`; values of labels come from small sets,
// never from names of objects.

/** Label values by label name. One family uses the same label names in every sample. */
export type Labels = Readonly<Record<string, string>>;

/** One number of a family. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** How observations are spread. */
export interface Distribution {
  readonly labels: Labels;
  /** Observations of at most `upTo`; cumulative, ascending, and the last `upTo` is Infinity: the form Prometheus reads. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
  readonly sum: number;
}

/**
 * All samples of one name at one moment. A counter only grows while the process lives and its name ends in `_total`; a gauge goes up
 * and down.
 */
export type MetricFamily = { readonly name: string; readonly help: string } & (
  | { readonly type: "counter" | "gauge"; readonly samples: readonly Sample[] }
  | { readonly type: "histogram"; readonly distributions: readonly Distribution[] }
);

/** One series of a counter, to be kept by whoever counts often: `add` costs one addition. */
export interface CounterSeries {
  add(count?: number): void;
}

/** One series of a histogram; `observe` costs one comparison per bucket passed. */
export interface HistogramSeries {
  observe(value: number): void;
}

/** The series of a family by labels. The same labels give the same series. */
export interface FamilyOf<S> {
  series(labels?: Labels): S;
}

/** Seconds from a millisecond to two minutes, for whatever a person or a program waits for. */
export const durationBuckets: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120,
];

/** Series kept of one family; more label sets than this are counted together under labels that are all `other`. */
const maxSeries = 1000;

/**
 * The metrics of one process. Families are made once, at start; making a second one of the same name throws, because two parts
 * would then count past each other.
 */
export class Metrics {
  readonly #families = new Map<string, () => MetricFamily>();

  /** `unit` of what is added is in the name. */
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

  /** `buckets` are ascending upper bounds; one without a bound is added. */
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

  /** A number that exists anyway: `read` is called when somebody looks, and must be quick. */
  gauge(name: string, help: string, read: () => number | readonly Sample[]): void {
    this.#add(name, () => ({ name, help, type: "gauge", samples: samplesOf(read()) }));
  }

  /** As `gauge`, for a number that only grows. */
  readCounter(name: string, help: string, read: () => number | readonly Sample[]): void {
    this.#add(name, () => ({ name, help, type: "counter", samples: samplesOf(read()) }));
  }

  /** As `gauge`, for distributions that are kept elsewhere. */
  readHistogram(name: string, help: string, read: () => readonly Distribution[]): void {
    this.#add(name, () => ({ name, help, type: "histogram", distributions: read() }));
  }

  /** Everything as it is now, ordered by name. A family whose reading throws is left out: no number is worth the others. */
  collect(): readonly MetricFamily[] {
    const names = [...this.#families.keys()].sort();
    return names.flatMap((name) => {
      try {
        return this.#families.get(name)?.() ?? [];
      } catch {
        // Such as a gauge that reads a file which has gone.
        return [];
      }
    });
  }

  #add(name: string, read: () => MetricFamily): void {
    // The second are known names of what gRPC servers count.
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

/** Counts per bucket, not cumulative: an observation touches one number. */
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
    // What is no number belongs nowhere.
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

/** Series by their label values, at most `maxSeries` and the one for the rest. */
class SeriesByLabels<S> implements FamilyOf<S> {
  readonly #make: () => S;
  readonly #byKey = new Map<string, readonly [Labels, S]>();

  constructor(make: () => S) {
    this.#make = make;
  }

  /** Label names are those of the family, in one order, so the values alone tell series apart. */
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
