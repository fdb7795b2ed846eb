import { basename, dirname, resolve } from "node:path";
import type { Invocation } from "#kernel/command/index.ts";
import { readInputs } from "./reading.ts";
import type { WharfRunOptions } from "./run-options.ts";
import type { ReadDefinition } from "../world/read-definition.ts";
import { findFormerBuild, type FormerBuild } from "../worker/former-build.ts";
import { ownRoot } from "../results/place.ts";

type Inputs = NonNullable<Awaited<ReturnType<typeof readInputs>>>;

export interface Wanted {
  readonly inputs: Inputs;
  readonly environment: string | undefined;
  readonly stages: readonly string[];
  readonly former?: FormerBuild;
}

export async function readWanted(
  { options, environment: { err, ...environment } }: Invocation<WharfRunOptions>,
  path: string | undefined,
): Promise<Wanted | undefined> {
  const given = await readInputs(options, { err, ...environment });
  const { rerunFailed, stage: stages = [], environment: selected } = options;
  if (given === undefined || rerunFailed === undefined)
    return given && { inputs: given, environment: selected, stages };
  const place = resolve(environment.directory, options.file ?? path ?? ".");
  const project = options.file !== undefined || basename(place) === ".wharf-ci.yml" ? dirname(place) : place;
  const root = await ownRoot(environment.variable("TMPDIR") ?? "/tmp");
  const former = await findFormerBuild(rerunFailed, { root, project });
  const missing = former.ok ? former.value.passwords.filter((name) => !given.has(name)) : [];
  if (!former.ok) err.write(`slipway: ${former.error}\n`);
  for (const name of missing)
    err.write(`slipway: the input ${name} is a password, which is not kept: give it again with --input\n`);
  if (!former.ok || missing.length > 0) return undefined;
  const { value } = former;
  return {
    inputs: new Map([...Object.entries(value.inputs), ...given]),
    environment: selected ?? value.environment,
    stages: stages.length > 0 ? stages : value.stages,
    former: value,
  };
}

export function selectionOf({ file, prepared }: ReadDefinition, { inputs, environment, stages, former }: Wanted) {
  const declared = prepared.definition?.inputs ?? [];
  const isPassword = (name: string): boolean =>
    declared.some((input) => input.name === name && input.type === "password");
  const texts = [...inputs].map(([name, value]) => [name, typeof value === "string" ? value : value.text] as const);
  return {
    project: file.projectDirectory,
    environment,
    stages,
    inputs: Object.fromEntries(texts.filter(([name]) => !isPassword(name))),
    passwords: texts.map(([name]) => name).filter(isPassword),
    done: former?.done ?? [],
  };
}
