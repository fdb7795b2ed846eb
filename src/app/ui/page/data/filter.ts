import type { RunPhase } from "#engine/index.ts";

/** What the filter line means: tokens such as `phase:failed ns:prod label:team=a`, and any other text. */
export interface RunFilter {
  readonly phase: readonly string[];
  readonly dialect: readonly string[];
  readonly namespace: readonly string[];
  readonly label: readonly string[];
  readonly source: readonly string[];
  readonly text: string;
}

export const noFilter: RunFilter = { phase: [], dialect: [], namespace: [], label: [], source: [], text: "" };

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
};

const token = /^(\w+):(.*)$/;

/** Reads any line; unknown tokens are text. Values may be lists: `phase:failed,running`. */
export function parseFilter(line: string): RunFilter {
  const found = { phase: [], dialect: [], namespace: [], label: [], source: [] } as Record<string, string[]>;
  const words: string[] = [];
  for (const word of line.split(/\s+/).filter(Boolean)) {
    const [, name = "", value = ""] = token.exec(word) ?? [];
    const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (key === undefined) words.push(word);
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
    ...(filter.text === "" ? [] : [filter.text]),
  ].join(" ");
}

/** With the phase, or without it if it is there. */
export const togglePhase = (filter: RunFilter, phase: string): RunFilter => ({
  ...filter,
  phase: filter.phase.includes(phase) ? filter.phase.filter((one) => one !== phase) : [...filter.phase, phase],
});

/** As `GET /slipway/runs` and subscriptions take it. */
export function queryOf(filter: RunFilter): Record<string, string> {
  const lists = [
    ["phase", filter.phase],
    ["dialect", filter.dialect],
    ["namespace", filter.namespace],
    ["label", filter.label],
    ["source", filter.source],
  ] as const;
  return {
    ...Object.fromEntries(lists.filter(([, values]) => values.length > 0).map(([name, values]) => [name, values.join(",")])),
    ...(filter.text === "" ? {} : { text: filter.text }),
  };
}
