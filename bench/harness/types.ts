/** What one window measured. */
export interface Measured {
  readonly ops: number;
  /** How long they took; with `isCold` benchmarks what the window was about. */
  readonly ms: number;
  /** CPU of all processes that do the work, load generators in processes of their own excepted; NaN where it cannot be read. */
  readonly cpuUs: number;
  /** Milliseconds per operation. */
  readonly p50?: number;
  readonly p99?: number;
  /** Longest time the event loop was held, in milliseconds. */
  readonly heldMs?: number;
  /** Resident memory that the window was about. */
  readonly rssBytes?: number;
  /** Operations that were carried out more than once. */
  readonly repeats?: number;
  /** CPU in microseconds of each process that did a part of the work, by what it is called. */
  readonly parts?: Readonly<Record<string, number>>;
  /** Anything worth telling beside the figures. */
  readonly note?: string;
}

/** `peer`: another product doing the same job. `floor`: a bare program doing only the irreducible work. */
export type Role = "ours" | "peer" | "floor";

/** One program under measurement, started and ready. */
export interface Candidate {
  /** Measures one window. Rejects when the results are wrong: a benchmark that does not check its results is none. */
  measure(ms: number, round: string): Promise<Measured>;
  close(): Promise<void>;
}

export interface CandidateSource {
  readonly name: string;
  readonly role: Role;
  readonly version?: string;
  /** Rejects when the program is not to be had here; a peer or floor is then left out aloud, ours is an error. */
  start(): Promise<Candidate>;
}

/** A bound on a figure: so many times another candidate's median and a constant, or a number. */
export interface Bound {
  /** Name of a candidate, or `best peer`. Absent: `ratio` is the figure itself. */
  readonly to?: string;
  readonly ratio: number;
  /** Added to the other candidate's part, in the line's unit. */
  readonly plus?: number;
}

/** One line of the table: one figure of our program, compared. */
export interface Line {
  readonly metric: string;
  readonly unit: string;
  readonly better: "more" | "less";
  readonly value: (window: Measured) => number;
  /** Operations of this line in one operation of the window, for CPU per operation; 1 unless told. */
  readonly perOp?: number;
  /** Name of our candidate. */
  readonly ours: string;
  /** Peers that do the same job; all of the benchmark's unless told, none when empty. */
  readonly peers?: readonly string[];
  /** Name of the floor shown beside it. */
  readonly floor?: string;
  /** A release is made with all of them kept only. */
  readonly hold?: readonly Bound[];
  /** All of them make the goal. */
  readonly goal?: readonly Bound[];
}

/** A set-up whose candidates are measured alternately. */
export interface Benchmark {
  readonly id: string;
  readonly title: string;
  readonly candidates: readonly CandidateSource[];
  readonly lines: readonly Line[];
  /** One window takes this long at least; the run's own length when absent. */
  readonly windowMs?: number;
  /** Programs are started for each window, so there is nothing to warm up. */
  readonly isCold?: true;
}

/** What a candidate measured in all rounds. */
export interface Series {
  readonly source: CandidateSource;
  readonly windows: readonly Measured[];
  /** Some window was taken while the machine was busy with something else. */
  readonly isNoisy: boolean;
}
