import { isJsonObject, type JsonObject, type JsonValue, parseInstant } from "#lib/base/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import { type BuildWord, wordOf } from "../state.ts";
import { type Engine, type Engines, engineOf } from "../builds/engines.ts";
import { shownInputs } from "../builds/shown-inputs.ts";
import { withoutPassword } from "#kernel/git/index.ts";
import { createReporter } from "../definition/diagnostics.ts";
import { sumOf, type TestSummary } from "../artifact-store/test-counts.ts";
import { readOutline } from "../definition/outline.ts";
import { valueOf } from "../definition/print.ts";
import type { Build, Project } from "../kinds.ts";
import { secretOf } from "../rules.ts";
import { masked } from "../variables/variable.ts";

// Objects as the original API returns them. Pure.

export const statusWords: readonly BuildWord[] = ["Scheduling", "Running", "Completed", "Failed"];

export function timesOf(object: Stored): { readonly updatedAt: string | null; readonly createdAt: string | null } {
  const createdAt = object.metadata.creationTimestamp;
  const { metadata } = asJson(object);
  const entries = isJsonObject(metadata) ? metadata["managedFields"] : undefined;
  // The newest time of the field managers is the last write.
  const written = (Array.isArray(entries) ? entries : []).flatMap((entry) =>
    isJsonObject(entry) && typeof entry["time"] === "string" ? [entry["time"]] : [],
  );
  const last = [createdAt, ...written].reduce((a, b) => ((parseInstant(b) ?? 0) > (parseInstant(a) ?? 0) ? b : a));
  return { updatedAt: last, createdAt };
}

export const engineJson = ({ id, name, url, api }: Engine): JsonObject => ({ id, name, url, api });

export interface BuildSurroundings {
  readonly project: Stored<Project> | undefined;
  readonly engines: Engines;
  readonly summaries: readonly TestSummary[];
}

/** Reason and message are additions to the original. */
export function buildJson(build: Stored<Build>, { project, engines, summaries }: BuildSurroundings): JsonObject {
  const { spec, status = {} } = build;
  const buildId = spec.buildId ?? 0;
  const word = wordOf(build);
  const engine = engineOf(engines, spec.engine);
  const shown = shownInputs(spec.definition ?? project?.spec.buildDefinition);
  // Without files the status still has the sums.
  const { total, failed, passed, skipped } =
    summaries.length > 0 ? sumOf(summaries) : (status.testResults ?? sumOf([]));
  return {
    ...timesOf(build),
    buildId,
    statusId: statusWords.indexOf(word),
    status: word,
    projectId: project?.spec.projectId ?? 0,
    scheduledOn: status.scheduledOn ?? build.metadata.creationTimestamp,
    startedOn: status.startedOn ?? null,
    finishedOn: status.finishedOn ?? null,
    gitBranch: spec.ref ?? "",
    environment: spec.environment ?? null,
    stage: spec.stage,
    workerId: status.workerId ?? "",
    params: Object.entries(spec.inputs ?? {}).map(([name, value]) => ({
      buildId,
      name,
      value: shown.has(name) ? paramText(value) : masked,
    })),
    isInvalid: status.isInvalid ?? false,
    testResultSummaries: summaries.map((summary) => ({ ...summary })),
    testResultListSummary: { buildId, total, failed, passed, skipped },
    engine: engine === undefined ? null : engineJson(engine),
    reason: status.reason ?? "",
    message: status.message ?? "",
  };
}

const paramText = (value: JsonValue): string =>
  secretOf(value) === undefined ? (typeof value === "string" ? value : JSON.stringify(value)) : masked;

export const tokenIdOf = ({ spec }: Project): number =>
  Number(/^wharf-token-([1-9]\d{0,14})$/.exec(spec.tokenSecretRef?.name ?? "")?.[1] ?? 0);

export function projectJson(project: Stored<Project>, provider: JsonObject | null): JsonObject {
  const { spec } = project;
  const overrides = spec.overrides ?? {};
  return {
    ...timesOf(project),
    projectId: spec.projectId ?? 0,
    remoteProjectId: spec.remoteProjectId ?? "",
    name: spec.name,
    groupName: spec.groupName ?? "",
    description: overrides.description || (spec.description ?? ""),
    avatarUrl: overrides.avatarUrl || (spec.avatarUrl ?? ""),
    tokenId: tokenIdOf(project),
    providerId: spec.providerId ?? 0,
    provider,
    buildDefinition: spec.buildDefinition ?? "",
    branches: branchesJson(project),
    gitUrl: withoutPassword(overrides.gitUrl || (spec.gitUrl ?? "")),
    build: definitionJson(spec.buildDefinition),
  };
}

/** Aliases and merge keys are resolved, because JSON has neither. */
function definitionJson(text: string | undefined): JsonValue {
  if (text === undefined || text === "") return null;
  const outline = readOutline(text, createReporter(".wharf-ci.yml"));
  return outline === undefined ? null : valueOf(outline.root);
}

export function branchesJson(project: Stored<Project>): readonly JsonObject[] {
  const { projectId = 0, branches = [] } = project.spec;
  const tokenId = tokenIdOf(project);
  return branches.map(({ name, default: isDefault = false }, at) => ({
    ...timesOf(project),
    branchId: at + 1,
    projectId,
    name,
    default: isDefault,
    tokenId,
  }));
}

export function overridesJson({ spec }: Project): JsonObject {
  const { description = "", avatarUrl = "", gitUrl = "" } = spec.overrides ?? {};
  return { projectId: spec.projectId ?? 0, description, avatarUrl, gitUrl: withoutPassword(gitUrl) };
}
