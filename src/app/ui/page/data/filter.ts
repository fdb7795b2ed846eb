import type { Instant, Millis } from "#lib/base/index.ts";
import type { RunPhase } from "#engine/index.ts";

/** What the filter line means: tokens such as `phase:failed ns:prod label:team=a`, and any other text. */
export interface RunFilter {
  readonly phase: readonly string[];
  readonly dialect: readonly string[];
  readonly namespace: readonly string[];
  readonly label: readonly string[];
  readonly source: readonly string[];
  /** `2h`, `3d` or a date; the last one counts. */
  readonly since: readonly string[];
  readonly text: string;
}

export const noFilter: RunFilter = { phase: [], dialect: [], namespace: [], label: [], source: [], since: [], text: "" };

export const runPhases: readonly RunPhase[] = [
  "Failed",
  "Suspended",
  "Running",
  "Pending",
  "Cancelling",
  "Canceled",
  "Succeeded",
];

const keys: Readonly<Record<string, Exclude<keyof RunFilter, "text">>> = {
  phase: "phase",
  state: "phase",
  dialect: "dialect",
  ns: "namespace",
  namespace: "namespace",
  label: "label",
  source: "source",
  since: "since",
};

const token = /^(\w+):(.*)$/;

/** Reads any line; unknown tokens are text. Values may be lists: `phase:failed,running`. */
export function parseFilter(line: string): RunFilter {
  const found = { phase: [], dialect: [], namespace: [], label: [], source: [], since: [] } as Record<string, string[]>;
  const words: string[] = [];
  for (const word of line.split(/\s+/).filter(Boolean)) {
    const [, name = "", value = ""] = token.exec(word) ?? [];
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    const isReadable = key !== "since" || sinceWhen(value, 0) !== undefined;
    if (key === undefined || !isReadable) words.push(word);
    else found[key]?.push(...value.split(",").filter(Boolean));
  }
  const phase = (found["phase"] ?? []).map(
    (text) => runPhases.find((phase) => phase.toLowerCase() === text.toLowerCase()) ?? text,
  );
  return { ...noFilter, ...found, phase, text: words.join(" ") };
}

export function formatFilter(filter: RunFilter): string {
  const one = (name: string, values: readonly string[]): string[] =>
    values.length === 0 ? [] : [`${name}:${values.join(",")}`];
  return [
    ...one("phase", filter.phase.map((phase) => phase.toLowerCase())),
    ...one("dialect", filter.dialect),
    ...one("ns", filter.namespace),
    ...one("label", filter.label),
    ...one("source", filter.source),
    ...one("since", filter.since.slice(-1)),
    ...(filter.text === "" ? [] : [filter.text]),
  ].join(" ");
}

/** With the phase, or without it if it is there. */
export const togglePhase = (filter: RunFilter, phase: string): RunFilter => ({
  ...filter,
  phase: filter.phase.includes(phase) ? filter.phase.filter((one) => one !== phase) : [...filter.phase, phase],
});

const units: Readonly<Record<string, Millis>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** The instant that `2h` or `2026-11-28` means; undefined for other texts. */
export function sinceWhen(text: string, now: Instant): Instant | undefined {
  const [, count = "", unit = ""] = /^(\d{1,4})([mhdw])$/.exec(text) ?? [];
  const span = units[unit];
  if (span !== undefined) return now - Number(count) * span;
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** As `GET /slipway/runs` and subscriptions take it. */
export function queryOf(filter: RunFilter, now: Instant): Record<string, string> {
  const since = sinceWhen(filter.since.at(-1) ?? "", now);
  const lists = [
    ["phase", filter.phase],
    ["dialect", filter.dialect],
    ["namespace", filter.namespace],
    ["label", filter.label],
    ["source", filter.source],
  ] as const;
  return {
    ...Object.fromEntries(lists.filter(([, values]) => values.length > 0).map(([name, values]) => [name, values.join(",")])),
    ...(since === undefined ? {} : { since: String(since) }),
    ...(filter.text === "" ? {} : { text: filter.text }),
  };
}
