// Secrets are read when their step starts: a build that ends earlier never had them, and a missing secret fails the
// step that needs it.

import { err, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { EnvEntry, StepPlan } from "../plan/step-plan.ts";
import { readOverlay } from "../repository/overlay.ts";
import { findValues, type ValueKind, type ValuePlace, type Values } from "../secrets/find-values.ts";
import type { Substituter } from "../variables/substitute.ts";
import type { StepMaterial } from "./carry-out-step.ts";
import type { ResolvedMount, StepRuntime } from "./step-runtime.ts";

export interface MaterialSources {
  readonly projectDirectory: string;
  readonly substituter: Substituter;
  readonly places: readonly ValuePlace[];
  readonly runtime: Pick<StepRuntime, "brings" | "values">;
}

/** Shorter values are not masked: they are words of every language. */
const shortestSecret = 4;

export function materialOf(step: StepPlan, sources: MaterialSources): Promise<Result<StepMaterial, string>> {
  const { values } = sources.runtime;
  return values === undefined ? handedOver(step, sources) : namedAlone(step, values, sources);
}

/** For runtimes that read secrets themselves: checks that they exist and masks their values. Unreadable secrets are
 * only reported, because the runtime may still read them. */
async function namedAlone(
  step: StepPlan,
  values: ValuePlace,
  { projectDirectory, substituter }: MaterialSources,
): Promise<Result<StepMaterial, string>> {
  const secrets = new Set([
    ...step.envFrom,
    ...step.env.flatMap((entry) => ("secretRef" in entry ? [entry.secretRef.name] : [])),
    ...step.mounts.flatMap(({ kind, name }) => (kind === "secret" ? [name] : [])),
  ]);
  const maps = new Set(step.mounts.flatMap(({ kind, name }) => (kind === "configMap" ? [name] : [])));
  const [texts, remarks] = [new Set<string>(), [] as string[]];
  const look = async (kind: ValueKind, name: string): Promise<void> => {
    const found = await values.find(kind, name);
    const called = kind === "secret" ? "secret" : "config map";
    if (found.ok && found.value === undefined)
      throw new Error(`there is no ${called} ${name}; looked in ${values.where(kind, name)}`);
    if (kind !== "secret") return;
    if (found.ok) for (const value of found.value?.values() ?? []) texts.add(value.toString());
    else remarks.push(`values of secret ${name} are not masked because it cannot be read: ${found.error}`);
  };
  try {
    await Promise.all([
      ...[...secrets].map((name) => look("secret", name)),
      ...[...maps].map((name) => look("configMap", name)),
    ]);
    const overlay = await readOverlay(step.repo.overlay, projectDirectory, substituter);
    const env = Object.fromEntries(step.env.flatMap((entry) => ("value" in entry ? [[entry.name, entry.value]] : [])));
    return ok({ env, mounts: [], overlay, masked: longEnough(texts), remarks });
  } catch (thrown) {
    return err(messageOf(thrown));
  }
}

const longEnough = (texts: Iterable<string>): readonly string[] =>
  [...texts].filter((text) => text.length >= shortestSecret);

/** For runtimes that get the values with the step. */
async function handedOver(step: StepPlan, sources: MaterialSources): Promise<Result<StepMaterial, string>> {
  const texts = new Set<string>();
  const lookUp = async (kind: ValueKind, name: string): Promise<Values> => {
    const found = await findValues(sources.places, kind, name);
    if (!found.ok) throw new Error(found.error);
    if (kind === "secret") for (const value of found.value.values()) texts.add(value.toString());
    return found.value;
  };
  try {
    const whole = await Promise.all(step.envFrom.map((name) => lookUp("secret", name)));
    const own = await Promise.all(step.env.map((entry) => valueOf(entry, lookUp)));
    const env = [...whole.flatMap((values) => [...values].map(([key, value]) => [key, value.toString()])), ...own];
    const mounts = await Promise.all(
      step.mounts
        .filter((mount) => sources.runtime.brings?.(mount) !== true)
        .map(async ({ kind, name, items, path }): Promise<ResolvedMount> => {
          const values = await lookUp(kind, name);
          return { path, files: items === undefined ? values : picked(values, items, name) };
        }),
    );
    const overlay = await readOverlay(step.repo.overlay, sources.projectDirectory, sources.substituter);
    return ok({ env: Object.fromEntries(env), mounts, overlay, masked: longEnough(texts) });
  } catch (thrown) {
    return err(messageOf(thrown));
  }
}

type LookUp = (kind: ValueKind, name: string) => Promise<Values>;

async function valueOf(entry: EnvEntry, lookUp: LookUp): Promise<readonly [string, string]> {
  if ("value" in entry) return [entry.name, entry.value];
  const { name, key } = entry.secretRef;
  return [entry.name, keyOf(await lookUp("secret", name), key, name).toString()];
}

const picked = (values: Values, items: Readonly<Record<string, string>>, name: string) =>
  new Map(Object.entries(items).map(([key, file]) => [file, keyOf(values, key, name)]));

function keyOf(values: Values, key: string, name: string): Buffer {
  const value = values.get(key);
  if (value === undefined) throw new Error(`${name} has no key ${JSON.stringify(key)}`);
  return value;
}
