// The request of a build is stored beside its results without passwords, because results are kept and shown to
// others.

import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { err, isJsonObject, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { BuildPlan } from "../plan/step-plan.ts";
import { writeJson } from "../results/json-file.ts";
import { buildsOf } from "../results/place.ts";
import { readBuild } from "../results/read-build.ts";

export interface Selection {
  readonly project: string;
  readonly environment?: string | undefined;
  readonly stages: readonly string[];
  readonly inputs: Readonly<Record<string, string>>;
  readonly passwords: readonly string[];
  readonly done: readonly (readonly [stage: string, step: string])[];
}

const selectionFile = (resultsDirectory: string): string => join(resultsDirectory, "selection.json");

export const noteSelection = (resultsDirectory: string, selection: Selection): Promise<void> =>
  writeJson(selectionFile(resultsDirectory), selection);

export interface FormerBuild extends Selection {
  readonly buildId: number;
}

/** Finds a build by number, results directory or `last`. Only a directory may belong to another project, because it
 * cannot be named by accident. */
export async function findFormerBuild(
  wanted: string,
  { root, project }: { readonly root: string; readonly project: string },
): Promise<Result<FormerBuild, string>> {
  const home = buildsOf(root);
  const names = /^\d+$|^last$/.test(wanted) ? await newestFirst(home) : [];
  const meant = names
    .filter((name) => wanted === "last" || name.split(".")[0] === wanted)
    .map((name) => join(home, name));
  const isPlace = wanted.includes("/");
  const places = isPlace ? [resolve(wanted)] : meant;
  let reason = "";
  for (const directory of places) {
    const found = await readFormer(directory);
    if (found.ok && (isPlace || found.value.project === project)) return found;
    reason ||= `: ${found.ok ? `build ${wanted} is of ${found.value.project}` : found.error}`;
  }
  return err(
    wanted === "last" ? `no earlier build of ${project} is in ${home}` : `there is no earlier build ${wanted}${reason}`,
  );
}

async function newestFirst(home: string): Promise<readonly string[]> {
  const names = await readdir(home).catch(() => []);
  const dated = await Promise.all(
    names.map(async (name) => ({
      name,
      at: (await stat(selectionFile(join(home, name))).catch(() => undefined))?.mtimeMs,
    })),
  );
  return dated
    .flatMap(({ name, at }) => (at === undefined ? [] : [{ name, at }]))
    .sort((a, b) => b.at - a.at)
    .map(({ name }) => name);
}

async function readFormer(directory: string): Promise<Result<FormerBuild, string>> {
  try {
    const [build, selection] = [
      await readBuild(directory),
      JSON.parse(await readFile(selectionFile(directory), "utf8")) as unknown,
    ];
    if (!isSelection(selection)) return err(`${selectionFile(directory)} is not a selection of a build`);
    if (!build.frozen) return err(`build ${build.buildId} has not ended`);
    const stageNames = new Map(build.stages.map(({ stageId, name }) => [stageId, name]));
    const succeeded = build.steps
      .filter(({ status }) => status === "Success")
      .map(({ stageId, name }) => [stageNames.get(stageId) ?? "", name] as const);
    return ok({ ...selection, buildId: build.buildId, done: [...selection.done, ...succeeded] });
  } catch (thrown) {
    return err(messageOf(thrown));
  }
}

const isSelection = (value: unknown): value is Selection =>
  isJsonObject(value) &&
  typeof value["project"] === "string" &&
  isJsonObject(value["inputs"]) &&
  ["stages", "passwords", "done"].every((name) => Array.isArray(value[name]));

export function withoutDone(plan: BuildPlan, done: FormerBuild["done"]): BuildPlan {
  const known = new Set(done.map((pair) => JSON.stringify(pair)));
  let stepId = 1;
  const left = plan.stages
    .map((stage) => ({
      ...stage,
      steps: stage.steps.filter(({ step }) => !known.has(JSON.stringify([stage.name, step]))),
    }))
    .filter(({ steps }) => steps.length > 0);
  const stages = left.map((stage, index) => ({
    ...stage,
    stageId: index + 1,
    steps: stage.steps.map((step) => ({ ...step, stepId: stepId++ })),
  }));
  return { stages };
}
