import { type SimulatedAttempt, simulate } from "#engine/index.ts";
import type { Instant, Result } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { isRunOf, objectsOf, type ReadDocuments } from "#app/runs/index.ts";
import type { Trial } from "./simulation.ts";

interface Planned {
  readonly title: string;
  readonly manifest: Result<KubeObject, string>;
}

/**
 * What `run` would create, in order: objects that are not runs, then what each run creates when all its steps succeed.
 * YAML has a comment before each object; JSON is one List without what cannot be rendered.
 */
export function dryRunText(
  read: ReadDocuments,
  trials: readonly Trial[],
  format: "yaml" | "json",
  start: Instant,
): string {
  const planned = [...othersOf(read), ...trials.flatMap((trial) => plannedOf(trial, start))];
  if (format === "yaml") return planned.map(yamlOf).join("");
  const items = planned.flatMap(({ manifest }) => (manifest.ok ? [manifest.value] : []));
  return `${JSON.stringify({ apiVersion: "v1", kind: "List", items }, null, 2)}\n`;
}

const othersOf = (read: ReadDocuments): readonly Planned[] =>
  objectsOf(read).flatMap(({ document: { dialect, file }, object }) =>
    dialect !== undefined && isRunOf(dialect, object)
      ? []
      : [{ title: `before the runs, from ${file}`, manifest: { ok: true, value: object } as const }],
  );

/** In the order of starts. Attempts are rendered when they end; nothing they depend on has changed since. */
function plannedOf({ object, simulation }: Trial, start: Instant): readonly Planned[] {
  const { plan, end, manifest, applies, isCached, locks } = simulation;
  const name = object.metadata.name ?? object.metadata.generateName ?? "";
  const planned: Planned[] = [];
  const look = (attempt: SimulatedAttempt): void => {
    const made = manifest(attempt);
    const which = attempt.item === undefined ? attempt.step : `${attempt.step}[${attempt.item.index}]`;
    const how = applies(attempt.step) ? " (applied)" : "";
    // Only a server knows its cached results.
    const unless = isCached(attempt.step) ? ", unless its result is cached" : "";
    if (made !== undefined) planned.push({ title: `${name}: ${which}${how}${unless}`, manifest: made });
  };
  simulate(
    plan,
    {
      duration: () => 1000,
      end: (attempt) => {
        look(attempt);
        return end(attempt, false);
      },
      locks,
      decide: () => "approve",
    },
    start,
  );
  return planned;
}

const yamlOf = ({ title, manifest }: Planned): string =>
  manifest.ok
    ? `---\n# ${title}\n${writeYaml(JSON.parse(JSON.stringify(manifest.value)))}`
    : `---\n# ${title}: cannot be rendered before the run: ${manifest.error.replaceAll("\n", " ")}\n`;
