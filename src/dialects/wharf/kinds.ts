import { age, column, kind, type ObjectOf, type TypeOf } from "#lib/schema/index.ts";
import { BuildSpec, BuildStatus } from "./schema/build.ts";
import { ProjectSpec, ProjectStatus } from "./schema/project.ts";
import { WorkerSpec, WorkerStatus } from "./schema/worker.ts";

export const group = "wharf.slipway.dev";

const common = { group, version: "v1alpha1", scope: "Namespaced", categories: ["wharf"] } as const;

export const Project = kind({
  ...common,
  kind: "Project",
  plural: "projects",
  description: "A repository to build.",
  spec: ProjectSpec,
  status: ProjectStatus,
  columns: [
    column("ID", ".spec.projectId", { type: "integer" }),
    column("Group", ".spec.groupName"),
    column("Project", ".spec.name"),
    column("URL", ".spec.gitUrl", { priority: 1 }),
    age(),
  ],
});
export type Project = ObjectOf<typeof Project>;

/** One run of a definition. Users name a Project and what to run; the controller sets the number, the worker and the
 * status. */
export const Build = kind({
  ...common,
  kind: "Build",
  plural: "builds",
  description: "One run of a .wharf-ci.yml by a worker.",
  spec: BuildSpec,
  status: BuildStatus,
  columns: [
    column("ID", ".spec.buildId", { type: "integer" }),
    column("Project", ".spec.project"),
    column("Stage", ".spec.stage"),
    column("Env", ".spec.environment"),
    column("Status", ".status.status"),
    column("Reason", ".status.reason", { priority: 1 }),
    column("Worker", ".status.workerId"),
    age(),
  ],
});
export type Build = ObjectOf<typeof Build>;
export type BuildStatus = TypeOf<typeof BuildStatus>;

/** A program that runs one build. Written by the provisioner only. */
export const Worker = kind({
  ...common,
  kind: "Worker",
  plural: "workers",
  description: "A program that runs one build.",
  spec: WorkerSpec,
  status: WorkerStatus,
  columns: [
    column("Build", ".spec.buildRef", { type: "integer" }),
    column("Status", ".status.status"),
    column("Runtime", ".status.runtime"),
    column("Address", ".status.address", { priority: 1 }),
    age(),
  ],
});
export type Worker = ObjectOf<typeof Worker>;

export const kinds = [Project, Build, Worker] as const;
