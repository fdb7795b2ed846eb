// A build of what another one has left undone. What that one was asked for is noted beside its results, without passwords: results are kept for long,
// and are shown to others.

import { readdir, readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { err, isJsonObject, messageOf, ok, type Result } from "#lib/base/index.ts";
import type { BuildPlan } from "../plan/step-plan.ts";
import { writeJson } from "../results/json-file.ts";
import { buildsOf } from "../results/place.ts";
import { readBuild } from "../results/read-build.ts";

/** What a build was asked for. */
export interface Selection {
  /** The project directory. */
  readonly project: string;
  readonly environment?: string | undefined;
  readonly stages: readonly string[];
  /** Values that were given, but for passwords. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Names of passwords that were given. */
  readonly passwords: readonly string[];
  /** Steps that had succeeded before it began, each as its stage and its name. */
  readonly done: readonly (readonly [stage: string, step: string])[];
}

/** Another file of the results, which readers of results know nothing of. */
const selectionFile = (resultsDirectory: string): string => join(resultsDirectory, "selection.json");

/** Notes what a build was asked for, so that it can be taken up again. */
export const noteSelection = (resultsDirectory: string, selection: Selection): Promise<void> =>
  writeJson(selectionFile(resultsDirectory), selection);

/** A former build as it was asked for; `done` is also what has succeeded in it. */
export interface FormerBuild extends Selection {
  readonly buildId: number;
}

/**
 * The former build that a word means: its number, the directory of its results, or `last` for the newest one of the project. `root` is where results of
 * this user are. Only a directory may be of another project, because it cannot be meant by mistake. The error is for people.
 */
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
    wanted === "last" ? `no former build of ${project} is in ${home}` : `there is no former build ${wanted}${reason}`,
  );
}

/** Names of directories of results. */
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
    if (!isSelection(selection)) return err(`${selectionFile(directory)} is none of ours`);
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

/** It is a file of this user's, written whole or not at all. */
const isSelection = (value: unknown): value is Selection =>
  isJsonObject(value) &&
  typeof value["project"] === "string" &&
  isJsonObject(value["inputs"]) &&
  ["stages", "passwords", "done"].every((name) => Array.isArray(value[name]));

/** The plan without steps that are done, and without stages that have no others. Numbers are given anew. */
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
