import type { JsonValue } from "#lib/base/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import type { Build, Project } from "../kinds.ts";
import type { Engine } from "./engines.ts";

// What is said of a build to who runs it. Names are those of the jobs of the original's first engine, Jenkins, and every engine since has kept them.

/** What a worker is asked for with, as the original's callers name it. Values may be secret. */
export type Parameters = Readonly<Record<string, string>>;

/** Everything that a build is made of. */
export interface TriggerFacts {
  readonly build: Build;
  readonly project: Project;
  /** Values of inputs, those of passwords included. */
  readonly inputs: Readonly<Record<string, JsonValue>>;
  /** What the repository is cloned with. */
  readonly gitToken?: string | undefined;
  /** Which installation this is. */
  readonly instance: string;
  readonly engine: Engine;
}

/** What the project is cloned from: people may know better than the provider. */
export const gitUrlOf = ({ spec }: Project): string => spec.overrides?.gitUrl || spec.gitUrl || "";

/** The parameters of a worker; those that are empty are left out. Pure. */
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

/** A full ref of a branch tells the branch; any other is no branch. */
const branchOf = (ref: string | undefined): string | undefined =>
  ref?.startsWith("refs/") === true ? /^refs\/heads\/(.+)$/.exec(ref)?.[1] : ref;
