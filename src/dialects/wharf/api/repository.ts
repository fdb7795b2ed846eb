import { type Clock, messageOf } from "#lib/base/index.ts";
import { type ApiClient, patchStatus, refTo, retryOnConflict } from "#kernel/kit/index.ts";
import { ApiError, isAlreadyExists, isNotFound, type KubeObject, Secret, type Stored } from "#kernel/model/index.ts";
import { apiVersionOf } from "#kernel/model/index.ts";
import type { ResolvedInputs } from "../builds/inputs.ts";
import { inputReferences, inputsSecret } from "../builds/inputs-secret.ts";
import { createdByAnnotation, startedByAnnotation } from "../build-annotations.ts";
import type { Records } from "../builds/records.ts";
import { Build, type BuildStatus, Project } from "../kinds.ts";
import { refuse } from "../http/index.ts";

export interface RepositoryParts {
  readonly client: ApiClient;
  readonly records: Records;
  readonly clock: Clock;
  /** The namespace of projects created over REST. */
  readonly namespace: string;
}

type ProjectSpec = Project["spec"];
type BuildSpec = Build["spec"];

/** Errors of the API server are converted to those of the REST API. */
export class Repository {
  readonly records: Records;
  readonly #parts: RepositoryParts;

  constructor(parts: RepositoryParts) {
    this.records = parts.records;
    this.#parts = parts;
  }

  project(number: number): Stored<Project> {
    const project = this.records.project(number);
    if (project === undefined) throw refuse("record-not-found", `project with ID ${number} was not found`);
    return project;
  }

  build(number: number): Stored<Build> {
    const build = this.records.build(number);
    if (build === undefined) throw refuse("record-not-found", `build with ID ${number} was not found`);
    return build;
  }

  createProject(spec: Omit<ProjectSpec, "projectId">): Promise<Stored<Project>> {
    const { records, namespace, client } = this.#parts;
    // Skips numbers that an object has under another name.
    return this.#numbered(records.projectNumbers.next.bind(records.projectNumbers), async (projectId) => {
      if (records.project(projectId) !== undefined) return undefined;
      const metadata = { namespace, name: `project-${projectId}` };
      const project: Project = {
        apiVersion: apiVersionOf(Project),
        kind: Project.kind,
        metadata,
        spec: { ...spec, projectId },
      };
      return await client.create<Project>(Project, project);
    });
  }

  /** `change` may be called again after a conflict. */
  updateProject(number: number, change: (spec: ProjectSpec) => ProjectSpec): Promise<Stored<Project>> {
    const { client, clock } = this.#parts;
    return stored(() =>
      retryOnConflict({ clock }, async () => {
        const project = await client.get<Project>(refTo(Project, this.project(number)));
        return await client.update<Project>(Project, { ...project, spec: change(project.spec) });
      }),
    );
  }

  async deleteProject(number: number): Promise<void> {
    await stored(() => this.#parts.client.delete(refTo(Project, this.project(number))));
  }

  /** Creates a build with its secret inputs in a Secret. The caller requests the worker. */
  async createBuild(
    project: Stored<Project>,
    spec: Omit<BuildSpec, "buildId">,
    secret: ResolvedInputs["secret"],
    user: string,
  ) {
    const { records, client } = this.#parts;
    const { namespace } = project.metadata;
    const build = await this.#numbered(records.buildNumbers.next.bind(records.buildNumbers), async (buildId) => {
      if (records.build(buildId) !== undefined) return undefined;
      const name = `build-${buildId}`;
      const references = inputReferences(`${name}-inputs`, Object.keys(secret));
      return await client.create<Build>(Build, {
        apiVersion: apiVersionOf(Build),
        kind: Build.kind,
        metadata: {
          name,
          ...(namespace === undefined ? {} : { namespace }),
          annotations: { [startedByAnnotation]: "wharf-api", [createdByAnnotation]: user },
        },
        spec: { ...spec, buildId, inputs: { ...spec.inputs, ...references } },
      });
    });
    // After the build, which owns it: a crash in between leaves no orphaned Secret.
    const values = Object.values(secret);
    const secretName = `${build.metadata.name}-inputs`;
    if (values.length > 0)
      await stored(() => client.create<KubeObject>(Secret, inputsSecret(build, secretName, values)));
    return build;
  }

  updateStatus(number: number, change: (build: Stored<Build>) => BuildStatus | undefined): Promise<Stored<Build>> {
    const { client, clock } = this.#parts;
    return stored(() =>
      retryOnConflict({ clock, tries: 8 }, async () => {
        const build = await client.get<Build>(refTo(Build, this.build(number)));
        const status = change(build);
        return status === undefined ? build : await patchStatus(client, Build, build, status);
      }),
    );
  }

  cancelBuild(number: number): Promise<Stored<Build>> {
    const { client } = this.#parts;
    return stored(() =>
      client.patch<Build>(refTo(Build, this.build(number)), { type: "merge", body: { spec: { cancel: true } } }),
    );
  }

  /** Other processes may assign the same numbers. */
  async #numbered<T>(next: () => number, create: (number: number) => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < mostTries; tries++) {
      try {
        const created = await stored(() => create(next()));
        if (created !== undefined) return created;
      } catch (thrown) {
        if (!isTaken(thrown)) throw thrown;
      }
    }
    throw refuse("conflict", "no free number was found");
  }
}

const mostTries = 1000;

const isTaken = (thrown: unknown): boolean => thrown instanceof Error && isAlreadyExists(thrown.cause);

/** Errors about the request's content are the caller's; all others are failures of the store. */
export async function stored<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (isNotFound(thrown)) throw refuse("record-not-found", messageOf(thrown), { cause: thrown });
    if (thrown instanceof ApiError && (thrown.code === 422 || thrown.code === 400))
      throw refuse("invalid-param", thrown.message, { cause: thrown });
    if (isAlreadyExists(thrown)) throw refuse("conflict", messageOf(thrown), { cause: thrown });
    if (thrown instanceof ApiError || (thrown instanceof Error && "code" in thrown && !("kind" in thrown)))
      throw refuse("unexpected-db-read-error", messageOf(thrown), { cause: thrown });
    throw thrown;
  }
}
