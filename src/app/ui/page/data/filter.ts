import type { Instant, Millis } from "#lib/base/index.ts";
import { runPhases } from "#app/ui/run-phases.ts";

/** What the filter line means: tokens such as `phase:failed duration>5m label:team=a`, and any other text. */
export interface RunFilter {
  readonly phase: readonly string[];
  readonly dialect: readonly string[];
  readonly namespace: readonly string[];
  readonly label: readonly string[];
  readonly source: readonly string[];
  /** `2h`, `3d` or a date; the last one counts. */
  readonly since: readonly string[];
  /** `>5m`, `<1h30m`. */
  readonly duration: readonly string[];
  readonly text: string;
}

type Token = Exclude<keyof RunFilter, "text">;

const keys: Readonly<Record<string, Token>> = {
  phase: "phase",
  state: "phase",
  dialect: "dialect",
  ns: "namespace",
  namespace: "namespace",
  label: "label",
  source: "source",
  since: "since",
  duration: "duration",
};

const token = /^(\w+)(?::|(?=[<>]))(.*)$/;

/** Reads any line; unknown tokens are text. Values may be lists: `phase:failed,running`. */
export function parseFilter(line: string): RunFilter {
  const found: Record<Token, string[]> = {
    phase: [],
    dialect: [],
    namespace: [],
    label: [],
    source: [],
    since: [],
    duration: [],
  };
  const words: string[] = [];
  for (const word of line.split(/\s+/).filter(Boolean)) {
    const [, name = "", value = ""] = token.exec(word) ?? [];
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined || readable[key]?.(value) === false) words.push(word);
    else found[key].push(...value.split(",").filter(Boolean));
  }
  const phase = found.phase.map(
    (text) => runPhases.find((phase) => phase.toLowerCase() === text.toLowerCase()) ?? text,
  );
  return { ...found, phase, text: words.join(" ") };
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
    ...filter.duration.map((bound) => `duration${bound}`),
    ...(filter.text === "" ? [] : [filter.text]),
  ].join(" ");
}

/** With the phase, or without it if it is there. */
export const togglePhase = (filter: RunFilter, phase: string): RunFilter => ({
  ...filter,
  phase: filter.phase.includes(phase) ? filter.phase.filter((one) => one !== phase) : [...filter.phase, phase],
});

const units: Readonly<Record<string, Millis>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `90s`, `1h30m`, `2d`; undefined for other texts. */
function spanOf(text: string): Millis | undefined {
  if (!/^(?:\d{1,4}[smhdw])+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+)(\w)/g)];
  return parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (units[unit] ?? 0), 0);
}

/** The instant that `2h` or `2026-11-28` means; undefined for other texts. */
export function sinceWhen(text: string, now: Instant): Instant | undefined {
  const span = spanOf(text);
  if (span !== undefined) return now - span;
  const at = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** Tokens of which not every value means something; others are searched as text. */
const readable: Readonly<Partial<Record<Token, (value: string) => boolean>>> = {
  since: (value) => sinceWhen(value, 0) !== undefined,
  duration: (value) => value.split(",").every((bound) => /^[<>]/.test(bound) && spanOf(bound.slice(1)) !== undefined),
};

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
    ...boundOf(filter, "longer", ">", Math.max),
    ...boundOf(filter, "shorter", "<", Math.min),
    ...(filter.text === "" ? {} : { text: filter.text }),
  };
}

/** Of several bounds the strictest. */
function boundOf(
  { duration }: RunFilter,
  name: string,
  sign: string,
  strictest: (...spans: number[]) => number,
): Readonly<Record<string, string>> {
  const spans = duration.flatMap((bound) => (bound.startsWith(sign) ? (spanOf(bound.slice(1)) ?? []) : []));
  return spans.length === 0 ? {} : { [name]: String(strictest(...spans)) };
}
