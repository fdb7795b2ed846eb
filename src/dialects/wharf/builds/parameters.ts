import type { JsonValue } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { Build, Project } from "../kinds.ts";
import type { Engine } from "./engines.ts";

// The names are those of the original's Jenkins jobs.

export type Parameters = Readonly<Record<string, string>>;

export interface TriggerFacts {
  readonly build: Build;
  readonly project: Project;
  readonly inputs: Readonly<Record<string, JsonValue>>;
  readonly gitToken?: string | undefined;
  readonly instance: string;
  readonly engine: Engine;
}

export const gitUrlOf = ({ spec }: Project): string => spec.overrides?.gitUrl || spec.gitUrl || "";

export function parametersOf({ build, project, inputs, gitToken, instance, engine }: TriggerFacts): Parameters {
  const { spec } = build;
  const branch = branchOf(spec.ref);
  const all: Readonly<Record<string, string | undefined>> = {
    REPO_NAME: project.spec.name,
    REPO_GROUP: project.spec.groupName?.toLowerCase(),
    REPO_BRANCH: branch,
    GIT_BRANCH: branch,
    GIT_REF: spec.ref?.startsWith("refs/") === true ? spec.ref : undefined,
    GIT_COMMIT: spec.commit,
    RUN_STAGES: spec.stage,
    ENVIRONMENT: spec.environment,
    BUILD_REF: `${spec.buildId ?? ""}`,
    VARS: Object.keys(inputs).length === 0 ? undefined : writeYaml(inputs, { keys: "given" }),
    GIT_FULLURL: gitUrlOf(project),
    GIT_TOKEN: gitToken,
    WHARF_PROJECT_ID: `${project.spec.projectId ?? ""}`,
    WHARF_INSTANCE: instance,
    token: engine.token,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, value]])),
  );
}

const branchOf = (ref: string | undefined): string | undefined =>
  ref?.startsWith("refs/") === true ? /^refs\/heads\/(.+)$/.exec(ref)?.[1] : ref;
